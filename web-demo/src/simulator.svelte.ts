import { EngineClient, EngineError } from './client';
import { locateIssues, type LocatedIssue } from './locate';
import type { Repeat, Ask, Decision, LoadedPack } from './protocol';
import { restoreTurns, TurnInspector } from './turn-inspector';
import { AnswerSettings } from './answer-settings.svelte';
import { toRecordedAnswers } from './run/recorded-answers';
import { findSyntaxIssue, type SyntaxIssue } from './syntax';
import { START_EVENT, type FlowEvent } from './flow/event';
import { playedKind } from './flow/flow-pack';
import type { LateIssues } from './late-issues.svelte';
import { findSample, samples, type Sample } from './samples';
import type { Project } from './session/project.svelte';
import type { SavedSession } from './session/session-store';
import type { UserInput } from './session/turn-data';
import { Tree } from './tree.svelte';
import { Turn } from './turn.svelte';
import { nextInput, type RerunOptions, type RecallOptions, type TypedInput } from './user-input';

export type { LocatedIssue, RerunOptions, RecallOptions, SyntaxIssue, TypedInput };

/** The state of the edited text. */
export type PackState = 'loading' | 'applied' | 'edited' | 'refused';

const APPLY_DELAY_MS = 150;

/** The state of the page and its actions. */
export class Simulator {
  /** The sample that the pack was opened from; `undefined` for other packs. */
  sample = $state.raw<Sample | undefined>(samples[0]);
  text = $state('');
  packState = $state<PackState>('loading');
  issues = $state.raw<LocatedIssue[]>([]);
  lateIssues = $state.raw<LateIssues>();
  syntax = $state.raw<SyntaxIssue>();
  failure = $state.raw<EngineError>();
  hash = $state('');
  /** The kind of the document that the running pack plays, such as `workflow_chain`, whose sessions are runs; `undefined` for tables. */
  kind = $state<string>();
  readonly isFlow = $derived(this.kind !== undefined);
  readonly isChain = $derived(this.kind === 'workflow_chain');
  /** The inputs of the pack's own turns. */
  packInputs = $state.raw<UserInput[]>([]);
  /** A message of the page, announced politely. */
  notification = $state('');
  /** A linked session that was opened while another one existed. */
  offeredLink = $state<string>();
  /** The sessions stored in the browser: the latest, and the latest of the previous visit. */
  savedSessions = $state.raw<SavedSession[]>([]);
  /** Whether the page is as it opened: the user has neither sent, opened nor edited anything. */
  untouched = $state(true);
  /** The folder that the packs come from, if `convengine dev` serves the page. */
  project = $state.raw<Project>();
  /** The number of turns that are running or queued. */
  busy = $state(0);

  readonly tree = new Tree((removed) => void this.client.deleteTurns(removed.flatMap((it) => it.record?.turn ?? [])).catch(() => {}));
  readonly ready: Promise<void>;
  /** Who answers effects, and what may be called. */
  readonly settings = new AnswerSettings(() => void this.client.forgetKeys().catch(() => {}));
  readonly client = new EngineClient((error) => this.recover(error));
  private runningPack: { pack: string; loaded?: LoadedPack } = { pack: '' };
  /** Pack texts by configuration hash. */
  private readonly packs = new Map<string, string>();
  private readonly inspector = new TurnInspector(this.client, this.tree);
  /** The text that `revert` restores. */
  private original = $state('');
  private loading: Promise<void> = Promise.resolve();
  private applyTimer: ReturnType<typeof setTimeout> | undefined;
  private lastTurn = 0;
  /** The number of opened sessions. */
  private sessionNumber = 0;
  /** The branch replayed for the latest edit, and the branch it was replayed from. */
  private editedBranch: { from: Turn[]; turns: Turn[] } | undefined;
  private defaultConversationId = '';
  private isRecovering = false;

  constructor() {
    this.ready = this.loadFirstPack();
    // Callers that await `ready` handle its failure; the page shows it anyway.
    this.ready.catch(() => {});
  }

  /** Suggested first messages. */
  get suggestions(): string[] {
    return [...new Set(this.packInputs.map((it) => it.message))].filter(Boolean).slice(0, 4);
  }

  /** The title of the pack. */
  get name(): string {
    if (this.sample) return this.sample.title;
    return /"name"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(this.text)?.[1] ?? 'Untitled pack';
  }

  /** The text of the running pack. */
  get pack(): string {
    return this.runningPack.pack;
  }

  /** Plays the first conversation of the sample that the page opens with, unless the user has begun something else. */
  async playOpening(): Promise<void> {
    await this.ready.catch(() => {});
    if (this.untouched && this.tree.turns.length === 0 && this.packState === 'applied') await this.playTurns(true);
  }

  /** Opens a sample and plays its first conversation. */
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

  /** Opens another pack with an empty tree. */
  async openPack(text: string): Promise<void> {
    clearTimeout(this.applyTimer);
    this.untouched = false;
    this.sessionNumber += 1;
    this.tree.turns.forEach((it) => it.running && this.stopTurn(it));
    // A new pack must not use live access granted for another one.
    this.settings.disableLive();
    this.sample = undefined;
    [this.text, this.original] = [text, text];
    this.tree.clear();
    this.editedBranch = undefined;
    await this.queueLoad(false).catch(() => {});
  }

  /** Returns a check of whether the current session is still open. */
  sessionCheck(): () => boolean {
    const { sessionNumber } = this;
    return () => this.sessionNumber === sessionNumber;
  }

  /** The text of the pack that a turn ran on. */
  findPack(turn: Turn): string {
    return this.packs.get(turn.record?.config ?? '') ?? this.pack;
  }

  /** Changes the text and applies it after a delay. */
  edit(text: string): void {
    if (text === this.text) return;
    this.untouched = false;
    this.text = text;
    this.packState = 'edited';
    clearTimeout(this.applyTimer);
    this.applyTimer = setTimeout(() => void this.apply(), APPLY_DELAY_MS);
  }

  /** Runs the edited text if it adds no errors, and replays the visible branch on it. */
  async apply(): Promise<void> {
    clearTimeout(this.applyTimer);
    const before = this.runningPack;
    const { kind } = this;
    // The replay of the previous edit is obsolete.
    this.editedBranch?.turns.forEach((it) => it.running && this.stopTurn(it));
    await this.queueLoad(true).catch(() => {});
    if (this.runningPack === before || this.tree.path.length === 0) return;
    // Inputs for tables cannot be replayed on a flow, nor those of sessions as a run.
    if (this.kind !== kind) return this.restart();
    await this.replayBranch('pack edited');
  }

  /** Whether the pack was changed. */
  get isChanged(): boolean {
    return this.text !== this.original;
  }

  /** Restores the text that the pack was opened with. */
  revert(): void {
    this.edit(this.original);
  }

  /** Starts a new conversation and keeps the others as branches. A flow sends the first message; a run awaits its input. */
  restart(event: FlowEvent = START_EVENT): void {
    this.tree.showBranch(undefined);
    if (this.isFlow && !this.isChain) void this.startFlow(event);
  }

  /** Starts a run, and keeps the others as branches. */
  async startRun(event: FlowEvent): Promise<Turn> {
    if (this.packState === 'edited') await this.apply();
    this.tree.showBranch(undefined);
    return this.startFlow(event);
  }

  private startFlow(event = START_EVENT): Promise<Turn> {
    return this.runTurn(new Turn(++this.lastTurn, undefined, this.createInput({ message: '', event }, undefined)));
  }

  /** Sends a message at the end of the visible branch, or after another turn. */
  async send(typed: TypedInput, after?: Turn): Promise<Turn> {
    if (this.packState === 'edited') await this.apply();
    if (this.isFlow && !this.isChain && !this.tree.head) await this.startFlow();
    const parent = after ?? this.tree.head;
    const input = this.createInput(typed, parent);
    return this.runTurn(new Turn(++this.lastTurn, parent, input, parent === this.tree.head ? '' : `“${input.message}” after turn ${parent?.number}`));
  }

  /** Reruns a turn on a new branch from the same parent; answers to equal requests are reused. */
  async rerun(turn: Turn, { typed, until, edits = [], reason }: RerunOptions): Promise<Turn> {
    const input = typed ? this.createInput(typed, turn.parent, turn.input) : turn.input;
    const again = { recorded: toRecordedAnswers(turn.exchanges), edits, ...(until === undefined ? {} : { until }) };
    const next = new Turn(++this.lastTurn, turn.parent, input, reason, turn);
    next.silentFaults = edits.filter(({ decision }) => 'fault' in decision && ['never', 'crash'].includes(decision.fault.name));
    return this.runTurn(next, again);
  }

  /** Creates a rerun of a turn with the same input, after another parent or on another pack. */
  private copyTurn(turn: Turn, parent: Turn | undefined, reason = ''): Turn {
    const next = new Turn(++this.lastTurn, parent, turn.input, reason, turn);
    next.silentFaults = turn.silentFaults;
    return next;
  }

  /**
   * Replays the visible branch; answers to equal requests are reused.
   *
   * During consecutive edits, the branch of the previous edit is removed unless it has been continued.
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
      // A later edit replays it.
      if (next.error || this.editedBranch !== branch) break;
    }
    if (this.editedBranch !== branch) this.tree.removeTurns(branch.turns);
  }

  /** Replays turns of another branch at the end of the visible one. */
  async continueWith(turns: Turn[]): Promise<void> {
    const isCurrent = this.sessionCheck();
    for (const turn of turns) {
      const next = this.copyTurn(turn, this.tree.head);
      await this.runTurn(next, { recorded: toRecordedAnswers(turn.exchanges), edits: turn.silentFaults });
      if (next.error || !isCurrent()) break;
    }
  }

  /** Plays the pack's turns, or those of its first conversation, on a new branch; only the pack's script answers. */
  async playPack(firstOnly = false): Promise<void> {
    this.untouched = false;
    if (this.packState === 'edited') await this.apply();
    await this.playTurns(firstOnly);
  }

  private async playTurns(firstOnly: boolean): Promise<void> {
    // The turns belong to the pack that is being opened.
    await this.loading.catch(() => {});
    const isCurrent = this.sessionCheck();
    this.tree.showBranch(undefined);
    const first = this.packInputs[0]?.conversationId;
    let turn: Turn | undefined;
    for (const input of this.packInputs.filter((it) => !firstOnly || it.conversationId === first)) {
      turn = await this.runTurn(new Turn(++this.lastTurn, turn, input), undefined, 'pack');
      if (turn.error || !isCurrent()) break;
    }
    if (this.packInputs.length === 0) this.notification = 'This pack has no turns to play.';
  }

  /** Replays a journaled turn after another one; a divergence becomes the error of the turn. */
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
   * Runs a turn with recorded answers and adds it to a branch. Requests without one are answered by the pack's script or the stub;
   * no live calls are made.
   */
  async runRecorded(input: UserInput, parent: Turn | undefined, answers: Repeat['recorded'], { reason = '', silentFaults = [], pack }: RecallOptions = {}): Promise<Turn> {
    const turn = new Turn(++this.lastTurn, parent, input, reason);
    turn.silentFaults = silentFaults;
    await this.runTurn(turn, { recorded: answers, edits: silentFaults }, 'record', pack);
    if (turn.record && pack !== undefined) this.packs.set(turn.record.config, pack);
    return turn;
  }

  /** Answers a pending effect manually. */
  decide(turn: Turn, ask: Ask, decision: Decision, remember = false): void {
    if (remember && 'use' in decision) this.settings.rememberChoice(ask.effect, decision.use);
    turn.asks = turn.asks.filter((it) => it !== ask);
    void this.client.decide(turn.id, ask.effect.id, decision);
  }

  /** Cancels a turn that waits for a manual answer. */
  stopTurn(turn: Turn): void {
    void this.client.stop(turn.id);
  }

  private async loadFirstPack(): Promise<void> {
    const text = (await this.sample?.load()) ?? '{"name": "new"}';
    [this.text, this.original] = [text, text];
    await this.queueLoad(false);
  }

  private createInput(typed: TypedInput, parent: Turn | undefined, like?: UserInput): UserInput {
    return nextInput(typed, parent, { main: this.defaultConversationId, flow: this.isFlow, chain: this.isChain }, like);
  }

  private async runTurn(turn: Turn, repeat?: Repeat, by: 'user' | 'pack' | 'record' = 'user', pack?: string): Promise<Turn> {
    if (by !== 'pack') this.untouched = false;
    this.tree.add(turn);
    this.busy += 1;
    // A new worker first restores the turns of the old one.
    await this.loading.catch(() => {});
    const previous = turn.parent?.path ?? [];
    const before = previous.findLast((it) => it.record && it.input.conversationId === turn.input.conversationId);
    const packOnly = { sources: { models: by === 'pack' ? ('pack' as const) : ('script' as const), others: 'script' as const, stale: {} }, liveAccess: { models: [], secrets: [] }, faults: [] };
    const run = {
      input: turn.input,
      parent: turn.parent?.lastFinished?.record?.turn ?? null,
      before: before?.record?.turn ?? null,
      ...(by === 'user' ? this.settings.toRunOptions() : packOnly),
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
    // The next turn has priority: inspection takes longer than running.
    setTimeout(() => void this.inspector.inspectPending(() => this.busy > 0));
    return turn;
  }

  /** Queues a load, so that the last requested text is the one that runs. */
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
    // Loading the same text again must not replay the conversation.
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
    const { text } = this;
    this.issues = locateIssues(text, this.lateIssues?.addKnown(text, loaded.issues) ?? loaded.issues);
    void import('./late-issues.svelte').then((it) => (this.lateIssues ??= new it.LateIssues(this)).find(text, loaded)).catch(() => {});
    this.packState = loaded.accepted ? 'applied' : 'refused';
    if (!loaded.accepted) return;
    this.hash = loaded.hash;
    this.kind = playedKind(this.text);
    this.packInputs = loaded.turns;
  }

  /** Restores the state of the engine in a new worker, unless the pack stops the engine again. */
  private recover(error: EngineError): void {
    if (this.isRecovering) return;
    this.isRecovering = true;
    this.notification = `The engine stopped (${error.message}) and was restarted. Finished turns were kept.`;
    const restored = this.client.load(this.runningPack.pack, false).then(() => restoreTurns(this.client, this.tree, this.packs));
    // Requests made during recovery wait for it.
    this.loading = restored
      .catch((again: EngineError) => {
        this.failure = again;
        this.packState = 'refused';
      })
      .finally(() => (this.isRecovering = false));
  }
}
