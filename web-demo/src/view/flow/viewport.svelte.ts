import { untrack } from 'svelte';
import { NODE_HEIGHT, NODE_WIDTH, type Drawing, type PlacedNode } from '../../flow/layout';

const MARGIN = 24;
const MIN_SCALE = 0.05;
const MAX_SCALE = 4;

/** The visible part of a drawing. */
export class Viewport {
  x = $state(0);
  y = $state(0);
  scale = $state(1);

  /** Pans the drawing. */
  move(x: number, y: number): void {
    this.x += x;
    this.y += y;
  }

  /** Zooms around a point. */
  zoom(by: number, x: number, y: number): void {
    const scale = Math.max(MIN_SCALE, Math.min(this.scale * by, MAX_SCALE));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
  }

  /** Fits and centres a drawing, at most at its natural size. */
  fit(all: Drawing, width: number, height: number): void {
    this.scale = Math.max(MIN_SCALE, Math.min(1, (width - 2 * MARGIN) / all.width, (height - 2 * MARGIN) / all.height));
    this.x = (width - all.width * this.scale) / 2 - all.left * this.scale;
    this.y = Math.max(MARGIN, (height - all.height * this.scale) / 2) - all.top * this.scale;
  }

  /** Pans to a node if it is not visible; untracked, so that later panning does not rerun the effect. */
  reveal(at: PlacedNode, width: number, height: number): void {
    untrack(() => this.centerOn(at, width, height));
  }

  private centerOn({ x, y }: PlacedNode, width: number, height: number): void {
    const [left, top] = [this.x + x * this.scale, this.y + y * this.scale];
    const [right, bottom] = [left + NODE_WIDTH * this.scale, top + NODE_HEIGHT * this.scale];
    if (left >= 0 && top >= 0 && right <= width && bottom <= height) return;
    this.x += width / 2 - (left + right) / 2;
    this.y += height / 2 - (top + bottom) / 2;
  }
}
