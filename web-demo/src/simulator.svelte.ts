import { EngineClient, EngineError } from './client';
import { spans } from './json-text';
import { locate, type Place } from './locate';
import type { Again, Ask, Decision, Loaded, PlayedTurn } from './protocol';
import { bringBack, Looking } from './looking';
import { ReachState } from './reach.svelte';
import { recorded } from './run/recorded';
import { syntaxOf, type SyntaxFault } from './syntax';
import { START, type FlowEvent } from './flow/event';
import { playsFlow } from './flow/plays';
import { sampleOf, samples, type Sample } from './samples';
import type { Said } from './session/saved';
import { Tree } from './tree.svelte';
import { Turn } from './turn.svelte';
import { saidAfter, type Other, type Recalled, type Typed } from './typed';
import type { Issue } from './types';

export type { Other, Recalled, SyntaxFault, Typed };

/** An issue with its place in the text. */
export type PlacedIssue = Issue & { place: Place | undefined };

/** What became of the edited text. */
export type PackState = 'loading' | 'applied' | 'edited' | 'refused';

const PAUSE_MS = 150;

/** All that the page shows and does. */
export class Simulator {
  /** The sample that the pack began as; nothing for a pack of one's own. */
  sample = $state.raw<Sample | undefined>(samples[0]);
  text = $state('');
  packState = $state<PackState>('loading');
  issues = $state.raw<PlacedIssue[]>([]);
  syntax = $state.raw<SyntaxFault>();
  failure = $state.raw<EngineError>();
  hash = $state('');
  /** Whether the pack that runs plays a flow document. */
  flow = $state(false);
  /** The turns that the pack brings along. */
  scripted = $state.raw<Said[]>([]);
  /** A quiet remark of the page, told politely. */
  remark = $state('');
  /** The session of a link that was followed while there was another one. */
  offer = $state<string>();
  /** The sessions that the browser has kept: the latest, and the latest of the visit before. */
  kept = $state.raw<string[]>([]);
  /** How many turns are being run or wait for it. */
  busy = $state(0);

  readonly tree = new Tree((gone) => void this.client.forget(gone.flatMap((it) => it.record?.turn ?? [])).catch(() => {}));
  readonly ready: Promise<void>;
  /** Who answers, and what the chat may reach of the world. */
  readonly reach = new ReachState(() => void this.client.forgetKeys().catch(() => {}));
  readonly client = new EngineClient((error) => this.recover(error));
  private running: { pack: string; loaded?: Loaded } = { pack: '' };
  /** The texts of packs by what they compile to. */
  private readonly packs = new Map<string, string>();
  private readonly looking = new Looking(this.client, this.tree);
  /** The text that `revert` goes back to. */
  private original = $state('');
  private loading: Promise<void> = Promise.resolve();
  private pause: ReturnType<typeof setTimeout> | undefined;
  private lastTurn = 0;
  /** Counts the sessions that were opened. */
  private opened = 0;
  /** The branch that was played for the latest edit, and the one that it was played from. */
  private edited: { from: Turn[]; turns: Turn[] } | undefined;
  private main = '';
  private recovering = false;

  constructor() {
    this.ready = this.begin();
    // Whoever awaits `ready` hears of a failure there; the page shows it by itself.
    this.ready.catch(() => {});
  }

  /** Messages to begin with. */
  get suggestions(): string[] {
    return [...new Set(this.scripted.map((it) => it.message))].filter(Boolean).slice(0, 4);
  }

  /** What the pack is called. */
  get name(): string {
    if (this.sample) return this.sample.title;
    const name = /"name"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(this.text)?.[1];
    return name ?? 'A pack of your own';
  }

  /** The text of the pack that runs. */
  get pack(): string {
    return this.running.pack;
  }

  /** Goes over to a sample and plays its first conversation. */
  async choose(name: string): Promise<void> {
    const sample = sampleOf(name);
    const text = await sample?.load();
    if (!sample || text === undefined) return;
    const open = this.open(text);
    const stays = this.stays();
    await open;
    if (!stays()) return;
    this.sample = sample;
    await this.playPack(true);
  }

  /** Goes over to another pack, whose conversations begin anew. */
  async open(text: string): Promise<void> {
    clearTimeout(this.pause);
    this.opened += 1;
    this.tree.turns.forEach((it) => it.running && this.stop(it));
    // Whoever wrote the pack is not to reach anything that was meant for another one.
    this.reach.stayHere();
    this.sample = undefined;
    [this.text, this.original] = [text, text];
    this.tree.clear();
    this.edited = undefined;
    await this.load(false).catch(() => {});
  }

  /** Tells later whether the session is still the one that it is now. */
  stays(): () => boolean {
    const { opened } = this;
    return () => this.opened === opened;
  }

  /** Gives the text of the pack that a turn ran on. */
  packOf(turn: Turn): string {
    return this.packs.get(turn.record?.config ?? '') ?? this.pack;
  }

  /** Opens the session of a link in the place of what is there; the page says why when it cannot be opened. */
  async openLink(fragment: string): Promise<void> {
    this.offer = undefined;
    try {
      const { openLink } = await import('./session/carry');
      await openLink(this, fragment);
    } catch (error) {
      this.remark = `The link could not be opened: ${(error as Error).message}`;
    }
  }

  /** Takes in a change of the text and applies it after a pause. */
  edit(text: string): void {
    if (text === this.text) return;
    this.text = text;
    this.packState = 'edited';
    clearTimeout(this.pause);
    this.pause = setTimeout(() => void this.apply(), PAUSE_MS);
  }

  /** Runs the edited text when it brings no new errors, and plays the shown branch again on it. */
  async apply(): Promise<void> {
    clearTimeout(this.pause);
    const before = this.running;
    const { flow } = this;
    // Nobody waits any more for what the last edit was played for.
    this.edited?.turns.forEach((it) => it.running && this.stop(it));
    await this.load(true).catch(() => {});
    if (this.running === before || this.tree.path.length === 0) return;
    // What was said to tables means nothing to a flow.
    if (this.flow !== flow) return this.restart();
    await this.replay('pack edited');
  }

  /** Whether somebody changed the pack. */
  get changed(): boolean {
    return this.text !== this.original;
  }

  /** Goes back to the text that came with the page. */
  revert(): void {
    this.edit(this.original);
  }

  /** Begins a new conversation; the others stay as branches. A flow speaks first. */
  restart(begins: FlowEvent = START): void {
    this.tree.show(undefined);
    if (this.flow) void this.starts(begins);
  }

  private starts(event = START): Promise<Turn> {
    return this.run(new Turn(++this.lastTurn, undefined, this.said({ message: '', event }, undefined)));
  }

  /** Says something at the end of the branch that is shown, or after another turn. */
  async send(typed: Typed, after?: Turn): Promise<Turn> {
    if (this.packState === 'edited') await this.apply();
    if (this.flow && !this.tree.head) await this.starts();
    const parent = after ?? this.tree.head;
    const said = this.said(typed, parent);
    return this.run(new Turn(++this.lastTurn, parent, said, parent === this.tree.head ? '' : `“${said.message}” after turn ${parent?.number}`));
  }

  /** Runs a turn again beside itself, on what stood before it; what its answers had in common with it is used again. */
  async again(turn: Turn, { typed, until, edits = [], reason }: Other): Promise<Turn> {
    const said = typed ? this.said(typed, turn.parent, turn.said) : turn.said;
    const again = { recorded: recorded(turn.answered), edits, ...(until === undefined ? {} : { until }) };
    const next = new Turn(++this.lastTurn, turn.parent, said, reason, turn);
    next.struck = edits.filter(({ decision }) => 'fault' in decision && ['never', 'crash'].includes(decision.fault.name));
    return this.run(next, again);
  }

  /** A turn that runs another one again as it was, but behind another one or on another pack. */
  private copy(turn: Turn, parent: Turn | undefined, reason = ''): Turn {
    const next = new Turn(++this.lastTurn, parent, turn.said, reason, turn);
    next.struck = turn.struck;
    return next;
  }

  /**
   * Plays the shown branch again, with the answers that it had wherever the same is asked.
   *
   * While somebody goes on editing, one branch is enough: what was played for an earlier edit gives way, unless it has been gone on with.
   */
  private async replay(reason: string): Promise<void> {
    const edited = this.edited && this.tree.isTail(this.edited.turns) ? this.edited : undefined;
    const from = edited?.from ?? this.tree.path;
    const mine = { from, turns: [] as Turn[] };
    this.edited = mine;
    if (edited) this.tree.drop(edited.turns);
    for (const [index, turn] of from.entries()) {
      const next = this.copy(turn, mine.turns.at(-1), index === 0 ? reason : '');
      mine.turns.push(next);
      await this.run(next, { recorded: recorded(turn.answered), edits: turn.struck });
      // A later edit plays it anew.
      if (next.error || this.edited !== mine) break;
    }
    if (this.edited !== mine) this.tree.drop(mine.turns);
  }

  /** Plays what follows a turn on another branch at the end of the one that is shown. */
  async continueAs(turns: Turn[]): Promise<void> {
    const stays = this.stays();
    for (const turn of turns) {
      const next = this.copy(turn, this.tree.head);
      await this.run(next, { recorded: recorded(turn.answered), edits: turn.struck });
      if (next.error || !stays()) break;
    }
  }

  /** Plays the turns of the pack, or those of its first conversation, as a new branch, by the pack's script alone. */
  async playPack(firstAlone = false): Promise<void> {
    if (this.packState === 'edited') await this.apply();
    // The turns are those of the pack that is being opened.
    await this.loading.catch(() => {});
    const stays = this.stays();
    this.tree.show(undefined);
    const first = this.scripted[0]?.conversationId;
    let turn: Turn | undefined;
    for (const said of this.scripted.filter((it) => !firstAlone || it.conversationId === first)) {
      turn = await this.run(new Turn(++this.lastTurn, turn, said), undefined, 'pack');
      if (turn.error || !stays()) break;
    }
    if (this.scripted.length === 0) this.remark = 'This pack brings no turns along.';
  }

  /** Runs a recorded turn again behind another one; a turn that differs from its record says where. */
  async adopt(journal: string, pack: string, recordedHash: string, parent: Turn | undefined, reason = ''): Promise<Turn> {
    const said = { conversation: 'main', conversationId: '', message: '', inputParams: '', reset: false, at: 0, seed: 0 };
    const told = await this.client.adopt(journal, pack, parent?.ended?.record?.turn ?? null).catch((error: EngineError) => error);
    const turn = new Turn(++this.lastTurn, parent, told instanceof EngineError ? said : told.said, reason);
    turn.recordedHash = recordedHash;
    if (told instanceof EngineError) turn.fail(told);
    else turn.finish(told);
    if (turn.record) this.packs.set(turn.record.config, pack);
    return this.tree.add(turn);
  }

  /**
   * Runs a turn with answers that are given beforehand, and adds it to a branch. What has none is answered by the pack or made up:
   * whoever wrote down the answers is not to have anybody called.
   */
  async recall(said: Said, parent: Turn | undefined, answers: Again['recorded'], { reason = '', struck = [], pack }: Recalled = {}): Promise<Turn> {
    const turn = new Turn(++this.lastTurn, parent, said, reason);
    turn.struck = struck;
    await this.run(turn, { recorded: answers, edits: struck }, 'record', pack);
    if (turn.record && pack !== undefined) this.packs.set(turn.record.config, pack);
    return turn;
  }

  /** Answers an effect that waits for a person. */
  decide(turn: Turn, ask: Ask, decision: Decision, remember = false): void {
    if (remember && 'use' in decision) this.reach.remember(ask.effect, decision.use);
    turn.asks = turn.asks.filter((it) => it !== ask);
    void this.client.decide(turn.id, ask.effect.id, decision);
  }

  /** Gives up a turn that waits for a person. */
  stop(turn: Turn): void {
    void this.client.stop(turn.id);
  }

  /** Plays the turns of any pack and leaves the page as it is. */
  play(pack: string): Promise<PlayedTurn[]> {
    return this.client.play(pack);
  }

  /** Answers calls of a pack's extensions outside of any turn; returns the completions. */
  answer(pack: string, effects: string[]): Promise<string[]> {
    return this.client.extend(pack, effects);
  }

  private async begin(): Promise<void> {
    const text = (await this.sample?.load()) ?? '{"name": "new"}';
    [this.text, this.original] = [text, text];
    await this.load(false);
  }

  private said(typed: Typed, parent: Turn | undefined, like?: Said): Said {
    return saidAfter(typed, parent, { main: this.main, flow: this.flow }, like);
  }

  private async run(turn: Turn, again?: Again, by: 'anybody' | 'pack' | 'record' = 'anybody', pack?: string): Promise<Turn> {
    this.tree.add(turn);
    this.busy += 1;
    // A new worker first gets back what the old one had.
    await this.loading.catch(() => {});
    const ran = turn.parent?.path ?? [];
    const before = ran.findLast((it) => it.record && it.said.conversationId === turn.said.conversationId);
    const alone = { sources: { models: by === 'pack' ? ('pack' as const) : ('script' as const), others: 'script' as const, stale: {} }, reach: { models: [], secrets: [] }, faults: [] };
    const run = {
      said: turn.said,
      parent: turn.parent?.ended?.record?.turn ?? null,
      before: before?.record?.turn ?? null,
      ...(by === 'anybody' ? this.reach.plain() : alone),
      ...(pack === undefined ? {} : { pack }),
      ...(again ? { again } : {}),
    };
    try {
      turn.finish(await this.client.run(turn.id, run, (progress) => (this.reach.count(progress), turn.follow(progress))));
    } catch (error) {
      turn.fail(error as EngineError);
    } finally {
      this.busy -= 1;
    }
    // The next turn comes first: looking takes longer than running.
    setTimeout(() => void this.looking.into(() => this.busy > 0));
    return turn;
  }

  /** Loads one after the other, so that what runs is what was asked for last. */
  private load(strict: boolean): Promise<void> {
    this.loading = this.loading.catch(() => {}).then(() => this.loadText(strict));
    return this.loading;
  }

  private async loadText(strict: boolean): Promise<void> {
    const { text } = this;
    this.syntax = syntaxOf(text);
    if (this.syntax) {
      this.issues = [];
      this.packState = 'refused';
      return;
    }
    const { pack, loaded: known } = this.running;
    // The same text again must not cost the conversation.
    if (strict && known && text === pack) return this.show(known);
    try {
      const loaded = await this.client.load(text, strict);
      this.main = loaded.main;
      if (loaded.accepted) this.running = { pack: text, loaded };
      this.packs.set(loaded.hash, text);
      if (text === this.text) this.show(loaded);
    } catch (error) {
      this.failure = error as EngineError;
      this.packState = 'refused';
      throw error;
    }
  }

  private show(loaded: Loaded): void {
    this.failure = undefined;
    const root = spans(this.text);
    this.issues = loaded.issues.map((it) => ({ ...it, place: locate(this.text, root, it.path) }));
    this.packState = loaded.accepted ? 'applied' : 'refused';
    if (!loaded.accepted) return;
    this.hash = loaded.hash;
    this.flow = playsFlow(this.text);
    this.scripted = loaded.turns;
  }

  /** Brings a new worker to where the old one was, unless that pack stops the engine too. */
  private recover(error: EngineError): void {
    if (this.recovering) return;
    this.recovering = true;
    this.remark = `The engine stopped (${error.message}) and was started again. What it had finished is still there.`;
    const brought = this.client.load(this.running.pack, false).then(() => bringBack(this.client, this.tree, this.packs));
    // What is asked for meanwhile stands behind it.
    this.loading = brought
      .catch((again: EngineError) => {
        this.failure = again;
        this.packState = 'refused';
      })
      .finally(() => (this.recovering = false));
  }
}
