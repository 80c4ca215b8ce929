import type { TimelineItem } from '../../timeline/items';
import type { TimelineRow } from '../../timeline/rows';
import type { Cursor } from '../../tree.svelte';
import type { Turn } from '../../turn.svelte';

/** A row that somebody chose. */
export interface SelectedRow {
  key: string;
  turn: Turn;
  step: number | undefined;
  item: TimelineItem | undefined;
}

/** The row of the timeline that was chosen last; it counts for as long as the cursor stays at its place. */
class Selection {
  private selected = $state.raw<SelectedRow>();
  /** Whether the answer of the chosen effect is being edited. */
  editing = $state(false);

  /** Chooses a row. */
  select({ key, turn, step, item }: Pick<TimelineRow<Turn>, 'key' | 'turn' | 'step'> & { item?: TimelineItem | undefined }): void {
    if (key !== this.selected?.key) this.editing = false;
    this.selected = { key, turn, step, item };
  }

  /** Gives the chosen row when it is where the cursor is. */
  atCursor(cursor: Cursor | undefined): SelectedRow | undefined {
    return this.selected && cursor && this.selected.turn === cursor.turn && this.selected.step === cursor.step ? this.selected : undefined;
  }
}

/** The selection of this page. */
export const selection = new Selection();
