import { EngineClient, EngineError } from './client';
import { parseSpans } from './json-text';
import { locateIssue, type TextRange } from './locate';
import type { Repeat, Ask, Decision, LoadedPack, PlayedTurn } from './protocol';
import { restoreTurns, TurnInspector } from './turn-inspector';
import { AnswerSettings } from './answer-settings.svelte';
import { toRecordedAnswers } from './run/recorded-answers';
import { findSyntaxIssue, type SyntaxIssue } from './syntax';
import { START_EVENT, type FlowEvent } from './flow/event';
import { isFlowPack } from './flow/flow-pack';
import { findSample, samples, type Sample } from './samples';
import type { UserInput } from './session/turn-data';
import { Tree } from './tree.svelte';
import { Turn } from './turn.svelte';
import { nextInput, type RerunOptions, type RecallOptions, type TypedInput } from './user-input';
import type { Issue } from './types';

export type { RerunOptions, RecallOptions, SyntaxIssue, TypedInput };

/** An issue with its place in the text. */
export type LocatedIssue = Issue & { range: TextRange | undefined };

/** What became of the edited text. */
export type PackState = 'loading' | 'applied' | 'edited' | 'refused';

const APPLY_DELAY_MS = 150;

/** All that the page shows and does. */
export class Simulator {
  /** The sample that the pack began as; nothing for a pack of one's own. */
  sample = $state.raw<Sample | undefined>(samples[0]);
  text = $state('');
  packState = $state<PackState>('loading');
  issues = $state.raw<LocatedIssue[]>([]);
  syntax = $state.raw<SyntaxIssue>();
  failure = $state.raw<EngineError>();
  hash = $state('');
  /** Whether the pack that runs plays a flow document. */
  isFlow = $state(false);
  /** The turns that the pack brings along. */
  packInputs = $state.raw<UserInput[]>([]);
  /** A quiet remark of the page, told politely. */
  notification = $state('');
  /** The session of a link that was followed while there was another one. */
  offeredLink = $state<string>();
  /** The sessions that the browser has kept: the latest, and the latest of the visit before. */
  savedSessions = $state.raw<string[]>([]);
  /** How many turns are being run or wait for it. */
  busy = $state(0);

  readonly tree = new Tree((removed) => void this.client.deleteTurns(removed.flatMap((it) => it.record?.turn ?? [])).catch(() => {}));
  readonly ready: Promise<void>;
  /** Who answers, and what the chat may reach of the world. */
  readonly settings = new AnswerSettings(() => void this.client.forgetKeys().catch(() => {}));
  readonly client = new EngineClient((error) => this.recover(error));
  private runningPack: { pack: string; loaded?: LoadedPack } = { pack: '' };
  /** The texts of packs by what they compile to. */
  private readonly packs = new Map<string, string>();
  private readonly inspector = new TurnInspector(this.client, this.tree);
  /** The text that `revert` goes back to. */
  private original = $state('');
  private loading: Promise<void> = Promise.resolve();
  private applyTimer: ReturnType<typeof setTimeout> | undefined;
  private lastTurn = 0;
  /** Counts the sessions that were opened. */
  private sessionNumber = 0;
  /** The branch that was played for the latest edit, and the one that it was played from. */
  private editedBranch: { from: Turn[]; turns: Turn[] } | undefined;
  private defaultConversationId = '';
  private isRecovering = false;

  constructor() {
    this.ready = this.loadFirstPack();
    // Whoever awaits `ready` hears of a failure there; the page shows it by itself.
    this.ready.catch(() => {});
  }

  /** Messages to begin with. */
  get suggestions(): string[] {
    return [...new Set(this.packInputs.map((it) => it.message))].filter(Boolean).slice(0, 4);
  }

  /** What the pack is called. */
  get name(): string {
    if (this.sample) return this.sample.title;
    const name = /"name"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(this.text)?.[1];
    return name ?? 'A pack of your own';
  }

  /** The text of the pack that runs. */
  get pack(): string {
    return this.runningPack.pack;
  }

  /** Goes over to a sample and plays its first conversation. */
  async openSample(name: string): Promise<void> {
    const sample = findSample(name);
    const text = await sample?.load();
    if (!sample || text === undefined) return;
    const open = this.openPack(text);
    const isCurrent = this.sessionCheck();
    await open;
    if (!isCurrent()) return;
    this.sample = sample;
    await this.playPack(true);
  }

  /** Goes over to another pack, whose conversations begin anew. */
  async openPack(text: string): Promise<void> {
    clearTimeout(this.applyTimer);
    this.sessionNumber += 1;
    this.tree.turns.forEach((it) => it.running && this.stopTurn(it));
    // Whoever wrote the pack is not to reach anything that was meant for another one.
    this.settings.disableLive();
    this.sample = undefined;
    [this.text, this.original] = [text, text];
    this.tree.clear();
    this.editedBranch = undefined;
    await this.queueLoad(false).catch(() => {});
  }

  /** Tells later whether the session is still the one that it is now. */
  sessionCheck(): () => boolean {
    const { sessionNumber } = this;
    return () => this.sessionNumber === sessionNumber;
  }

  /** Gives the text of the pack that a turn ran on. */
  findPack(turn: Turn): string {
    return this.packs.get(turn.record?.config ?? '') ?? this.pack;
  }

  /** Opens the session of a link in the place of what is there; the page says why when it cannot be opened. */
  async openLink(fragment: string): Promise<void> {
    this.offeredLink = undefined;
    try {
      const { openLink } = await import('./session/transfer');
      await openLink(this, fragment);
    } catch (error) {
      this.notification = `The link could not be opened: ${(error as Error).message}`;
    }
  }

  /** Takes in a change of the text and applies it after a pause. */
  edit(text: string): void {
    if (text === this.text) return;
    this.text = text;
    this.packState = 'edited';
    clearTimeout(this.applyTimer);
    this.applyTimer = setTimeout(() => void this.apply(), APPLY_DELAY_MS);
  }

  /** Runs the edited text when it brings no new errors, and plays the shown branch again on it. */
  async apply(): Promise<void> {
    clearTimeout(this.applyTimer);
    const before = this.runningPack;
    const { isFlow } = this;
    // Nobody waits any more for what the last edit was played for.
    this.editedBranch?.turns.forEach((it) => it.running && this.stopTurn(it));
    await this.queueLoad(true).catch(() => {});
    if (this.runningPack === before || this.tree.path.length === 0) return;
    // What was said to tables means nothing to a flow.
    if (this.isFlow !== isFlow) return this.restart();
    await this.replayBranch('pack edited');
  }

  /** Whether somebody changed the pack. */
  get isChanged(): boolean {
    return this.text !== this.original;
  }

  /** Goes back to the text that came with the page. */
  revert(): void {
    this.edit(this.original);
  }

  /** Begins a new conversation; the others stay as branches. A flow speaks first. */
  restart(event: FlowEvent = START_EVENT): void {
    this.tree.showBranch(undefined);
    if (this.isFlow) void this.startFlow(event);
  }

  private startFlow(event = START_EVENT): Promise<Turn> {
    return this.runTurn(new Turn(++this.lastTurn, undefined, this.createInput({ message: '', event }, undefined)));
  }

  /** Says something at the end of the branch that is shown, or after another turn. */
  async send(typed: TypedInput, after?: Turn): Promise<Turn> {
    if (this.packState === 'edited') await this.apply();
    if (this.isFlow && !this.tree.head) await this.startFlow();
    const parent = after ?? this.tree.head;
    const input = this.createInput(typed, parent);
    return this.runTurn(new Turn(++this.lastTurn, parent, input, parent === this.tree.head ? '' : `“${input.message}” after turn ${parent?.number}`));
  }

  /** Runs a turn again beside itself, on what stood before it; what its answers had in common with it is used again. */
  async rerun(turn: Turn, { typed, until, edits = [], reason }: RerunOptions): Promise<Turn> {
    const input = typed ? this.createInput(typed, turn.parent, turn.input) : turn.input;
    const again = { recorded: toRecordedAnswers(turn.exchanges), edits, ...(until === undefined ? {} : { until }) };
    const next = new Turn(++this.lastTurn, turn.parent, input, reason, turn);
    next.silentFaults = edits.filter(({ decision }) => 'fault' in decision && ['never', 'crash'].includes(decision.fault.name));
    return this.runTurn(next, again);
  }

  /** A turn that runs another one again as it was, but behind another one or on another pack. */
  private copyTurn(turn: Turn, parent: Turn | undefined, reason = ''): Turn {
    const next = new Turn(++this.lastTurn, parent, turn.input, reason, turn);
    next.silentFaults = turn.silentFaults;
    return next;
  }

  /**
   * Plays the shown branch again, with the answers that it had wherever the same is asked.
   *
   * While somebody goes on editing, one branch is enough: what was played for an earlier edit gives way, unless it has been gone on with.
   */
  private async replayBranch(reason: string): Promise<void> {
    const edited = this.editedBranch && this.tree.isTail(this.editedBranch.turns) ? this.editedBranch : undefined;
    const from = edited?.from ?? this.tree.path;
    const branch = { from, turns: [] as Turn[] };
    this.editedBranch = branch;
    if (edited) this.tree.removeTurns(edited.turns);
    for (const [index, turn] of from.entries()) {
      const next = this.copyTurn(turn, branch.turns.at(-1), index === 0 ? reason : '');
      branch.turns.push(next);
      await this.runTurn(next, { recorded: toRecordedAnswers(turn.exchanges), edits: turn.silentFaults });
      // A later edit plays it anew.
      if (next.error || this.editedBranch !== branch) break;
    }
    if (this.editedBranch !== branch) this.tree.removeTurns(branch.turns);
  }

  /** Plays what follows a turn on another branch at the end of the one that is shown. */
  async continueWith(turns: Turn[]): Promise<void> {
    const isCurrent = this.sessionCheck();
    for (const turn of turns) {
      const next = this.copyTurn(turn, this.tree.head);
      await this.runTurn(next, { recorded: toRecordedAnswers(turn.exchanges), edits: turn.silentFaults });
      if (next.error || !isCurrent()) break;
    }
  }

  /** Plays the turns of the pack, or those of its first conversation, as a new branch, by the pack's script alone. */
  async playPack(firstOnly = false): Promise<void> {
    if (this.packState === 'edited') await this.apply();
    // The turns are those of the pack that is being opened.
    await this.loading.catch(() => {});
    const isCurrent = this.sessionCheck();
    this.tree.showBranch(undefined);
    const first = this.packInputs[0]?.conversationId;
    let turn: Turn | undefined;
    for (const input of this.packInputs.filter((it) => !firstOnly || it.conversationId === first)) {
      turn = await this.runTurn(new Turn(++this.lastTurn, turn, input), undefined, 'pack');
      if (turn.error || !isCurrent()) break;
    }
    if (this.packInputs.length === 0) this.notification = 'This pack brings no turns along.';
  }

  /** Runs a recorded turn again behind another one; a turn that differs from its record says where. */
  async replayJournal(journal: string, pack: string, recordedHash: string, parent: Turn | undefined, reason = ''): Promise<Turn> {
    const input = { conversation: 'main', conversationId: '', message: '', inputParams: '', reset: false, at: 0, seed: 0 };
    const result = await this.client.replay(journal, pack, parent?.lastFinished?.record?.turn ?? null).catch((error: EngineError) => error);
    const turn = new Turn(++this.lastTurn, parent, result instanceof EngineError ? input : result.input, reason);
    turn.recordedHash = recordedHash;
    if (result instanceof EngineError) turn.fail(result);
    else turn.finish(result);
    if (turn.record) this.packs.set(turn.record.config, pack);
    return this.tree.add(turn);
  }

  /**
   * Runs a turn with answers that are given beforehand, and adds it to a branch. What has none is answered by the pack or made up:
   * whoever wrote down the answers is not to have anybody called.
   */
  async runRecorded(input: UserInput, parent: Turn | undefined, answers: Repeat['recorded'], { reason = '', silentFaults = [], pack }: RecallOptions = {}): Promise<Turn> {
    const turn = new Turn(++this.lastTurn, parent, input, reason);
    turn.silentFaults = silentFaults;
    await this.runTurn(turn, { recorded: answers, edits: silentFaults }, 'record', pack);
    if (turn.record && pack !== undefined) this.packs.set(turn.record.config, pack);
    return turn;
  }

  /** Answers an effect that waits for a person. */
  decide(turn: Turn, ask: Ask, decision: Decision, remember = false): void {
    if (remember && 'use' in decision) this.settings.rememberChoice(ask.effect, decision.use);
    turn.asks = turn.asks.filter((it) => it !== ask);
    void this.client.decide(turn.id, ask.effect.id, decision);
  }

  /** Gives up a turn that waits for a person. */
  stopTurn(turn: Turn): void {
    void this.client.stop(turn.id);
  }

  /** Plays the turns of any pack and leaves the page as it is. */
  play(pack: string): Promise<PlayedTurn[]> {
    return this.client.play(pack);
  }

  /** Answers calls of a pack's extensions outside of any turn; returns the completions. */
  callExtensions(pack: string, effects: string[]): Promise<string[]> {
    return this.client.callExtensions(pack, effects);
  }

  private async loadFirstPack(): Promise<void> {
    const text = (await this.sample?.load()) ?? '{"name": "new"}';
    [this.text, this.original] = [text, text];
    await this.queueLoad(false);
  }

  private createInput(typed: TypedInput, parent: Turn | undefined, like?: UserInput): UserInput {
    return nextInput(typed, parent, { main: this.defaultConversationId, flow: this.isFlow }, like);
  }

  private async runTurn(turn: Turn, repeat?: Repeat, by: 'anybody' | 'pack' | 'record' = 'anybody', pack?: string): Promise<Turn> {
    this.tree.add(turn);
    this.busy += 1;
    // A new worker first gets back what the old one had.
    await this.loading.catch(() => {});
    const previous = turn.parent?.path ?? [];
    const before = previous.findLast((it) => it.record && it.input.conversationId === turn.input.conversationId);
    const packOnly = { sources: { models: by === 'pack' ? ('pack' as const) : ('script' as const), others: 'script' as const, stale: {} }, reach: { models: [], secrets: [] }, faults: [] };
    const run = {
      input: turn.input,
      parent: turn.parent?.lastFinished?.record?.turn ?? null,
      before: before?.record?.turn ?? null,
      ...(by === 'anybody' ? this.settings.toRunOptions() : packOnly),
      ...(pack === undefined ? {} : { pack }),
      ...(repeat ? { repeat: repeat } : {}),
    };
    try {
      turn.finish(await this.client.run(turn.id, run, (progress) => (this.settings.countUsage(progress), turn.applyProgress(progress))));
    } catch (error) {
      turn.fail(error as EngineError);
    } finally {
      this.busy -= 1;
    }
    // The next turn comes first: looking takes longer than running.
    setTimeout(() => void this.inspector.inspectPending(() => this.busy > 0));
    return turn;
  }

  /** Loads one after the other, so that what runs is what was asked for last. */
  private queueLoad(strict: boolean): Promise<void> {
    this.loading = this.loading.catch(() => {}).then(() => this.loadPack(strict));
    return this.loading;
  }

  private async loadPack(strict: boolean): Promise<void> {
    const { text } = this;
    this.syntax = findSyntaxIssue(text);
    if (this.syntax) {
      this.issues = [];
      this.packState = 'refused';
      return;
    }
    const { pack, loaded: known } = this.runningPack;
    // The same text again must not cost the conversation.
    if (strict && known && text === pack) return this.showLoaded(known);
    try {
      const loaded = await this.client.load(text, strict);
      this.defaultConversationId = loaded.main;
      if (loaded.accepted) this.runningPack = { pack: text, loaded };
      this.packs.set(loaded.hash, text);
      if (text === this.text) this.showLoaded(loaded);
    } catch (error) {
      this.failure = error as EngineError;
      this.packState = 'refused';
      throw error;
    }
  }

  private showLoaded(loaded: LoadedPack): void {
    this.failure = undefined;
    const root = parseSpans(this.text);
    this.issues = loaded.issues.map((it) => ({ ...it, range: locateIssue(this.text, root, it.path) }));
    this.packState = loaded.accepted ? 'applied' : 'refused';
    if (!loaded.accepted) return;
    this.hash = loaded.hash;
    this.isFlow = isFlowPack(this.text);
    this.packInputs = loaded.turns;
  }

  /** Brings a new worker to where the old one was, unless that pack stops the engine too. */
  private recover(error: EngineError): void {
    if (this.isRecovering) return;
    this.isRecovering = true;
    this.notification = `The engine stopped (${error.message}) and was started again. What it had finished is still there.`;
    const restored = this.client.load(this.runningPack.pack, false).then(() => restoreTurns(this.client, this.tree, this.packs));
    // What is asked for meanwhile stands behind it.
    this.loading = restored
      .catch((again: EngineError) => {
        this.failure = again;
        this.packState = 'refused';
      })
      .finally(() => (this.isRecovering = false));
  }
}
