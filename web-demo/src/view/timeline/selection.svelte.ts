import type { TimelineItem } from '../../timeline/items';
import type { TimelineRow } from '../../timeline/rows';
import type { Cursor } from '../../tree.svelte';
import type { Turn } from '../../turn.svelte';

/** The selected row. */
export interface SelectedRow {
  key: string;
  turn: Turn;
  step: number | undefined;
  item: TimelineItem | undefined;
}

/** The row selected last; valid while the cursor stays at its position. */
class Selection {
  private selected = $state.raw<SelectedRow>();
  /** Whether the answer of the selected effect is being edited. */
  editing = $state(false);

  /** Selects a row. */
  select({ key, turn, step, item }: Pick<TimelineRow<Turn>, 'key' | 'turn' | 'step'> & { item?: TimelineItem | undefined }): void {
    if (key !== this.selected?.key) this.editing = false;
    this.selected = { key, turn, step, item };
  }

  /** Returns the selected row if it is at the cursor. */
  atCursor(cursor: Cursor | undefined): SelectedRow | undefined {
    return this.selected && cursor && this.selected.turn === cursor.turn && this.selected.step === cursor.step ? this.selected : undefined;
  }
}

/** The selection of this page. */
export const selection = new Selection();
