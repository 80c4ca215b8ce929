import { untrack } from 'svelte';
import { HEIGHT, WIDTH, type Drawing, type Placed } from '../../flow/layout';

const EDGE = 24;
const SMALLEST = 0.05;
const LARGEST = 4;

/** The part of a drawing that is seen. */
export class View {
  x = $state(0);
  y = $state(0);
  scale = $state(1);

  /** Moves the drawing. */
  move(x: number, y: number): void {
    this.x += x;
    this.y += y;
  }

  /** Makes the drawing larger or smaller; what stands at this point stays there. */
  zoom(by: number, x: number, y: number): void {
    const scale = Math.max(SMALLEST, Math.min(this.scale * by, LARGEST));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
  }

  /** Shows all of a drawing, in the middle, and never larger than it is. */
  fit(all: Drawing, width: number, height: number): void {
    this.scale = Math.max(SMALLEST, Math.min(1, (width - 2 * EDGE) / all.width, (height - 2 * EDGE) / all.height));
    this.x = (width - all.width * this.scale) / 2 - all.left * this.scale;
    this.y = Math.max(EDGE, (height - all.height * this.scale) / 2) - all.top * this.scale;
  }

  /** Moves the drawing so that a node is seen; what has moved it since is no reason to do so again. */
  reveal(at: Placed, width: number, height: number): void {
    untrack(() => this.bring(at, width, height));
  }

  private bring({ x, y }: Placed, width: number, height: number): void {
    const [left, top] = [this.x + x * this.scale, this.y + y * this.scale];
    const [right, bottom] = [left + WIDTH * this.scale, top + HEIGHT * this.scale];
    if (left >= 0 && top >= 0 && right <= width && bottom <= height) return;
    this.x += width / 2 - (left + right) / 2;
    this.y += height / 2 - (top + bottom) / 2;
  }
}
