/** Replays finished turns, to read their steps and to restore them in a new worker. */
import type { EngineClient } from './client';
import type { Tree } from './tree.svelte';

/** Loads the details of finished turns while the engine is idle. */
export class TurnInspector {
  private busy = false;

  constructor(
    private readonly client: EngineClient,
    private readonly tree: Tree,
  ) {}

  /** Loads missing details, newest turn first, until a turn has to run. */
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
      // The engine has stopped; its restart is reported elsewhere.
    } finally {
      this.busy = false;
    }
  }
}

/** Restores finished turns in a new worker. */
export async function restoreTurns(client: EngineClient, tree: Tree, packs: Map<string, string>): Promise<void> {
  for (const turn of tree.turns) {
    const { record } = turn;
    const pack = packs.get(record?.config ?? '');
    if (!record || pack === undefined) continue;
    const restored = await client.replay(record.journal, pack, turn.parent?.lastFinished?.record?.turn ?? null);
    turn.record = { ...record, turn: restored.turn };
  }
}
