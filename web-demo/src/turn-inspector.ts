/** Runs turns again that have ended: to look into them, and to have them in a new worker. */
import type { EngineClient } from './client';
import type { Tree } from './tree.svelte';

/** Looks into the turns of a tree while there is nothing to run. */
export class TurnInspector {
  private busy = false;

  constructor(
    private readonly client: EngineClient,
    private readonly tree: Tree,
  ) {}

  /** Looks into what has not been looked into, the newest turn first, for as long as nothing else is to be done. */
  async inspectPending(isBusy: () => boolean): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      for (;;) {
        const next = isBusy() ? undefined : this.tree.turns.findLast((it) => it.record?.stateHash === '');
        const record = next?.record;
        if (!next || !record) return;
        const seen = await this.client.inspect(record.turn);
        if (seen.stateHash === '') return;
        next.record = { ...record, ...seen };
      }
    } catch {
      // The engine has stopped; whoever starts it again says so.
    } finally {
      this.busy = false;
    }
  }
}

/** Takes finished turns into a worker that knows none of them. */
export async function restoreTurns(client: EngineClient, tree: Tree, packs: Map<string, string>): Promise<void> {
  for (const turn of tree.turns) {
    const { record } = turn;
    const pack = packs.get(record?.config ?? '');
    if (!record || pack === undefined) continue;
    const restored = await client.replay(record.journal, pack, turn.parent?.lastFinished?.record?.turn ?? null);
    turn.record = { ...record, turn: restored.turn };
  }
}
