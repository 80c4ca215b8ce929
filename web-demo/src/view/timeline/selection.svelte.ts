import type { Item } from '../../timeline/items';
import type { Row } from '../../timeline/rows';
import type { Cursor } from '../../tree.svelte';
import type { Turn } from '../../turn.svelte';

/** A row that somebody chose. */
export interface Chosen {
  key: string;
  turn: Turn;
  step: number | undefined;
  item: Item | undefined;
}

/** The row of the timeline that was chosen last; it counts for as long as the cursor stays at its place. */
class Selection {
  private at = $state.raw<Chosen>();
  /** Whether the answer of the chosen effect is being edited. */
  editing = $state(false);

  /** Chooses a row. */
  choose({ key, turn, step, item }: Pick<Row<Turn>, 'key' | 'turn' | 'step'> & { item?: Item | undefined }): void {
    if (key !== this.at?.key) this.editing = false;
    this.at = { key, turn, step, item };
  }

  /** Gives the chosen row when it is where the cursor is. */
  under(cursor: Cursor | undefined): Chosen | undefined {
    return this.at && cursor && this.at.turn === cursor.turn && this.at.step === cursor.step ? this.at : undefined;
  }
}

/** The selection of this page. */
export const selection = new Selection();
