import type { Turn } from './turn.svelte';

/** The selected turn and step; without a step, the end of the turn. */
export interface Cursor {
  turn: Turn;
  step: number | undefined;
}

/** A branch, identified by its newest turn. */
export interface Branch {
  tip: Turn;
  name: string;
  /** Why it was created; equal reasons are numbered. */
  reason: string;
  /** The number of its first own turn. */
  from: number;
}

/** All turns as a tree: a branch shares its first turns with the branch it was created from. */
export class Tree {
  turns = $state.raw<Turn[]>([]);
  /** The newest turn of the visible branch; `undefined` for a new conversation. */
  head = $state.raw<Turn>();
  private chosen = $state.raw<Cursor>();
  /** The visited branches by newest turn, and the current position among them. */
  private history = $state.raw<{ tips: (Turn | undefined)[]; chosen: number }>({ tips: [undefined], chosen: 0 });

  /** The turns of the visible branch. */
  readonly path = $derived(this.head?.path ?? []);

  /** All branches in order of creation. */
  readonly branches = $derived.by((): Branch[] => {
    const parents = new Set(this.turns.map((it) => it.parent));
    const tips = this.turns.filter((it) => !parents.has(it));
    const taken = new Set<Turn>();
    const reasons = new Map<string, number>();
    return tips.map((tip, index) => {
      const own = tip.path.filter((it) => !taken.has(it));
      own.forEach((it) => taken.add(it));
      const reason = own[0]?.reason ?? '';
      const count = (reasons.get(reason) ?? 0) + 1;
      reasons.set(reason, count);
      return { tip, name: `Branch ${index + 1}`, reason: reason && count > 1 ? `${reason} (${count})` : reason, from: own[0]?.number ?? tip.number };
    });
  });

  /** The selected position; by default the end of the newest turn. */
  get cursor(): Cursor | undefined {
    if (this.chosen && this.path.includes(this.chosen.turn)) return this.chosen;
    return this.head && { turn: this.head, step: undefined };
  }

  /** The number of cursor positions: every step of every turn, and the end of each turn. */
  readonly positionCount = $derived(this.path.reduce((sum, it) => sum + countPositions(it), 0));

  /** The zero-based cursor position. */
  readonly position = $derived.by(() => {
    const { cursor } = this;
    if (!cursor) return 0;
    let sum = 0;
    for (const turn of this.path) {
      if (turn === cursor.turn) return sum + (cursor.step ?? countPositions(turn) - 1);
      sum += countPositions(turn);
    }
    return sum;
  });

  /** Adds a turn and shows it. */
  add(turn: Turn): Turn {
    this.turns = [...this.turns, turn];
    if (turn.parent === this.head) this.extendBranch(turn);
    else this.showBranch(turn);
    return turn;
  }

  /** Shows a branch. */
  showBranch(tip: Turn | undefined): void {
    if (tip !== this.head) {
      const { tips, chosen } = this.history;
      this.history = { tips: [...tips.slice(0, chosen + 1), tip], chosen: chosen + 1 };
    }
    this.setHead(tip);
  }

  /** Whether there is a branch to go back or forward to. */
  canMove(direction: 1 | -1): boolean {
    const to = this.history.chosen + direction;
    return to >= 0 && to < this.history.tips.length;
  }

  /** Goes back to the previously shown branch, or forward again. */
  move(direction: 1 | -1): void {
    if (!this.canMove(direction)) return;
    const { tips, chosen } = this.history;
    this.history = { tips, chosen: chosen + direction };
    this.setHead(tips[chosen + direction]);
  }

  /** Selects a turn or one of its steps. */
  select(turn: Turn, step?: number): void {
    this.chosen = { turn, step };
  }

  /** Selects a position by its number. */
  goTo(position: number): void {
    let left = Math.max(0, Math.min(position, this.positionCount - 1));
    for (const turn of this.path) {
      const count = countPositions(turn);
      if (left < count) return this.select(turn, left < count - 1 ? left : undefined);
      left -= count;
    }
  }

  /** Selects the nearest position in a direction at which the session changed. */
  goToChange(direction: 1 | -1): void {
    for (let position = this.position + direction; position >= 0 && position < this.positionCount; position += direction) {
      if (this.isChangedAt(position)) return this.goTo(position);
    }
  }

  /** @param onForget called with removed turns */
  constructor(private readonly onForget: (turns: Turn[]) => void = () => {}) {}

  /** Whether turns are the end of the visible branch and no other branch leaves them. */
  isTail(turns: Turn[]): boolean {
    const all = new Set(turns);
    return turns.at(-1) === this.head && this.turns.every((it) => !it.parent || !all.has(it.parent) || all.has(it));
  }

  /** Removes turns that have no successors. */
  removeTurns(turns: Turn[]): void {
    const removed = new Set(turns);
    this.onForget(turns);
    this.turns = this.turns.filter((it) => !removed.has(it));
    if (this.head && removed.has(this.head)) this.setHead(undefined);
    const { tips, chosen } = this.history;
    const left: (Turn | undefined)[] = [];
    let here = 0;
    for (const [index, tip] of tips.entries()) {
      const it = index === chosen ? this.head : tip;
      // The history has no step from a branch to itself.
      if (!(it && removed.has(it)) && (left.length === 0 || left.at(-1) !== it)) left.push(it);
      if (index === chosen) here = left.length - 1;
    }
    this.history = { tips: left, chosen: here };
  }

  /** Removes all turns. */
  clear(): void {
    this.onForget(this.turns);
    this.turns = [];
    this.history = { tips: [undefined], chosen: 0 };
    this.setHead(undefined);
  }

  /** Continues the visible branch, which keeps its place in the history. */
  private extendBranch(turn: Turn): void {
    const { tips, chosen } = this.history;
    this.history = { tips: tips.map((it, index) => (index === chosen || (it && it === turn.parent) ? turn : it)), chosen };
    this.setHead(turn);
  }

  private setHead(tip: Turn | undefined): void {
    this.head = tip;
    this.chosen = undefined;
  }

  private isChangedAt(position: number): boolean {
    let left = position;
    for (const turn of this.path) {
      const count = countPositions(turn);
      if (left < count) return turn.record?.steps[left]?.changed ?? false;
      left -= count;
    }
    return false;
  }
}

function countPositions(turn: Turn): number {
  return (turn.record?.steps.length ?? 0) + 1;
}
