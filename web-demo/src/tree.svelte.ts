import type { Turn } from './turn.svelte';

/** Where everybody looks: a turn, and one of its steps; without a step, its end. */
export interface Cursor {
  turn: Turn;
  step: number | undefined;
}

/** A branch by its newest turn. */
export interface Branch {
  tip: Turn;
  name: string;
  /** Why it left the branch that it comes from. */
  reason: string;
  /** The number of the first turn that is its own. */
  from: number;
}

/** All turns that were run, as a tree: a branch shares its beginning with the one that it left, and nothing is ever lost. */
export class Tree {
  turns = $state.raw<Turn[]>([]);
  /** The newest turn of the branch that is shown; nothing for a new conversation. */
  head = $state.raw<Turn>();
  private at = $state.raw<Cursor>();
  /** Which branches were shown, by their newest turns, and at which of them the page is. */
  private visits = $state.raw<{ tips: (Turn | undefined)[]; at: number }>({ tips: [undefined], at: 0 });

  /** The turns of the branch that is shown. */
  readonly path = $derived(this.head?.path ?? []);

  /** All branches, in the order in which they began. */
  readonly branches = $derived.by((): Branch[] => {
    const parents = new Set(this.turns.map((it) => it.parent));
    const tips = this.turns.filter((it) => !parents.has(it));
    const taken = new Set<Turn>();
    return tips.map((tip, index) => {
      const own = tip.path.filter((it) => !taken.has(it));
      own.forEach((it) => taken.add(it));
      return { tip, name: `Branch ${index + 1}`, reason: own[0]?.reason ?? '', from: own[0]?.number ?? tip.number };
    });
  });

  /** Where everybody looks; the newest turn when nobody has chosen anything on this branch. */
  get cursor(): Cursor | undefined {
    if (this.at && this.path.includes(this.at.turn)) return this.at;
    return this.head && { turn: this.head, step: undefined };
  }

  /** How many places the cursor can be at: every step of every turn, and each turn's end. */
  readonly places = $derived(this.path.reduce((sum, it) => sum + placesOf(it), 0));

  /** The number of the cursor's place, from zero. */
  readonly place = $derived.by(() => {
    const { cursor } = this;
    if (!cursor) return 0;
    let sum = 0;
    for (const turn of this.path) {
      if (turn === cursor.turn) return sum + (cursor.step ?? placesOf(turn) - 1);
      sum += placesOf(turn);
    }
    return sum;
  });

  /** Adds a turn and shows it. */
  add(turn: Turn): Turn {
    this.turns = [...this.turns, turn];
    if (turn.parent === this.head) this.goOn(turn);
    else this.show(turn);
    return turn;
  }

  /** Shows a branch. */
  show(tip: Turn | undefined): void {
    if (tip !== this.head) {
      const { tips, at } = this.visits;
      this.visits = { tips: [...tips.slice(0, at + 1), tip], at: at + 1 };
    }
    this.put(tip);
  }

  /** Whether another branch was shown before this one, or after it before somebody went back. */
  canMove(direction: 1 | -1): boolean {
    const to = this.visits.at + direction;
    return to >= 0 && to < this.visits.tips.length;
  }

  /** Goes back to the branch that was shown before, or forward again. */
  move(direction: 1 | -1): void {
    if (!this.canMove(direction)) return;
    const { tips, at } = this.visits;
    this.visits = { tips, at: at + direction };
    this.put(tips[at + direction]);
  }

  /** Looks at a turn, or at one of its steps. */
  look(turn: Turn, step?: number): void {
    this.at = { turn, step };
  }

  /** Looks at a place by its number. */
  lookAt(place: number): void {
    let left = Math.max(0, Math.min(place, this.places - 1));
    for (const turn of this.path) {
      const count = placesOf(turn);
      if (left < count) return this.look(turn, left < count - 1 ? left : undefined);
      left -= count;
    }
  }

  /** Looks at the nearest place in that direction where the session changed. */
  lookForChange(direction: 1 | -1): void {
    for (let place = this.place + direction; place >= 0 && place < this.places; place += direction) {
      if (this.changedAt(place)) return this.lookAt(place);
    }
  }

  /** @param forgotten is told of turns that are not there any more */
  constructor(private readonly forgotten: (turns: Turn[]) => void = () => {}) {}

  /** Tells whether turns are the end of the shown branch, and nobody went another way from one of them. */
  isTail(turns: Turn[]): boolean {
    const all = new Set(turns);
    return turns.at(-1) === this.head && this.turns.every((it) => !it.parent || !all.has(it.parent) || all.has(it));
  }

  /** Forgets turns that nobody went on from. */
  drop(turns: Turn[]): void {
    const gone = new Set(turns);
    this.forgotten(turns);
    this.turns = this.turns.filter((it) => !gone.has(it));
    if (this.head && gone.has(this.head)) this.put(undefined);
    const { tips, at } = this.visits;
    const left: (Turn | undefined)[] = [];
    let here = 0;
    for (const [index, tip] of tips.entries()) {
      const it = index === at ? this.head : tip;
      // Nobody goes from a branch to itself.
      if (!(it && gone.has(it)) && (left.length === 0 || left.at(-1) !== it)) left.push(it);
      if (index === at) here = left.length - 1;
    }
    this.visits = { tips: left, at: here };
  }

  /** Forgets everything. */
  clear(): void {
    this.forgotten(this.turns);
    this.turns = [];
    this.visits = { tips: [undefined], at: 0 };
    this.put(undefined);
  }

  /** A branch that goes on is still the same one. */
  private goOn(turn: Turn): void {
    const { tips, at } = this.visits;
    this.visits = { tips: tips.map((it, index) => (index === at || (it && it === turn.parent) ? turn : it)), at };
    this.put(turn);
  }

  private put(tip: Turn | undefined): void {
    this.head = tip;
    this.at = undefined;
  }

  private changedAt(place: number): boolean {
    let left = place;
    for (const turn of this.path) {
      const count = placesOf(turn);
      if (left < count) return turn.record?.steps[left]?.changed ?? false;
      left -= count;
    }
    return false;
  }
}

function placesOf(turn: Turn): number {
  return (turn.record?.steps.length ?? 0) + 1;
}
