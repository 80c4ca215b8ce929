import { EngineClient, EngineError } from './client';
import { JsonFault, position, spans } from './json-text';
import { locate, type Place } from './locate';
import { boundTasks, extensionName, refusal, sha256, withModule, type Taken } from './pack-extension';
import { packs } from './packs';
import type { Loaded, PlayedTurn } from './protocol';
import { ReachState } from './reach.svelte';
import { Turn } from './turn.svelte';
import type { Issue } from './types';

/** A line of the chat: a turn, or a quiet remark of the page. */
export type Entry = { turn: Turn } | { remark: string };

/** Where the edited text stops being JSON. */
export interface SyntaxFault {
  line: number;
  column: number;
  offset: number;
  message: string;
}

/** An issue with its place in the text. */
export type PlacedIssue = Issue & { place: Place | undefined };

/** What became of the edited text. */
export type PackState = 'loading' | 'applied' | 'edited' | 'refused';

const PAUSE_MS = 400;
// A turn keeps the session around each of its steps, so a long chat has to forget its beginning.
const ENTRIES_KEPT = 80;

/** All that the page shows and does. */
export class Simulator {
  chosen = $state(0);
  text = $state(packs[0]?.text ?? '');
  packState = $state<PackState>('loading');
  issues = $state.raw<PlacedIssue[]>([]);
  syntax = $state.raw<SyntaxFault>();
  failure = $state.raw<EngineError>();
  hash = $state('');
  suggestions = $state.raw<string[]>([]);
  entries = $state.raw<Entry[]>([]);
  selected = $state.raw<Turn>();
  busy = $state(false);
  extension = $state.raw<Taken>();

  readonly ready: Promise<void>;
  /** What the chat may reach of the world. */
  readonly reach = new ReachState();
  private readonly client = new EngineClient((error) => this.recover(error));
  private running: { pack: string; loaded?: Loaded } = { pack: this.text };
  private loading: Promise<void> = Promise.resolve();
  private conversationId = newId();
  private pause: ReturnType<typeof setTimeout> | undefined;
  private turnCount = 0;
  private recovering = false;

  constructor() {
    this.ready = this.load(false);
    // Whoever awaits `ready` hears of a failure there; the page shows it by itself.
    this.ready.catch(() => {});
  }

  /** Goes over to one of the packs that come with the page. */
  async choose(index: number): Promise<void> {
    clearTimeout(this.pause);
    this.chosen = index;
    this.text = packs[index]?.text ?? '';
    this.extension = undefined;
    this.restart();
    await this.load(false).catch(() => {});
  }

  /** Takes in a change of the text and applies it after a pause. */
  edit(text: string): void {
    this.text = text;
    this.packState = 'edited';
    clearTimeout(this.pause);
    this.pause = setTimeout(() => void this.apply(), PAUSE_MS);
  }

  /** Runs the edited text when it has no errors. */
  async apply(): Promise<void> {
    clearTimeout(this.pause);
    const before = this.running;
    await this.load(true).catch(() => {});
    if (this.running === before) return;
    this.converse(newId());
    if (this.entries.length > 0) this.add({ remark: 'Pack applied. A new conversation begins.' });
  }

  /** Takes a module up into the pack and runs the pack with it. */
  async extend(file: File): Promise<void> {
    const name = extensionName(file.name);
    const refused = refusal(file.name, file.size);
    if (refused) {
      this.extension = { name, bytes: file.size, hash: '', tasks: [], refused };
      return;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    const fault = (await this.check(name, bytes)) || this.takeUp(name, bytes);
    if (!fault) await this.apply();
    const tasks = fault ? [] : boundTasks(this.text, name);
    this.extension = { name, bytes: bytes.length, hash: await sha256(bytes), tasks, refused: fault };
  }

  /** Goes back to the text that came with the page. */
  revert(): void {
    this.text = packs[this.chosen]?.text ?? '';
    void this.apply();
  }

  /** Empties the chat and begins a new conversation. */
  restart(): void {
    this.entries = [];
    this.selected = undefined;
    this.converse(newId());
  }

  /** Says something to the assistant. */
  async send(message: string, inputParams: string, reset: boolean): Promise<void> {
    if (this.packState === 'edited') await this.apply();
    const turn = this.begin(new Turn(++this.turnCount, message, this.conversationId, inputParams));
    await this.working(async () => {
      const said = { message, conversationId: turn.conversationId, reset, inputParams };
      turn.finish(await this.client.send(said, this.reach.plain(), (progress) => turn.follow(progress)));
    }, turn);
  }

  /** Plays the turns of the pack into the chat. */
  async playIntoChat(): Promise<void> {
    if (this.packState === 'edited') await this.apply();
    this.restart();
    await this.working(async () => {
      const played = await this.client.play(this.running.pack, true, (progress) => {
        if (progress.type !== 'turn') return;
        const { message, outcome } = progress.turn;
        if (this.conversationId !== outcome.conversation_id) {
          if (this.turnCount > 0) this.add({ remark: 'A new conversation begins.' });
          this.converse(outcome.conversation_id);
        }
        this.begin(new Turn(++this.turnCount, message, this.conversationId)).finish(progress.turn);
      });
      if (played.length === 0) this.add({ remark: 'This pack brings no turns along.' });
    });
  }

  /** Plays the turns of any pack and leaves the page as it is. */
  play(pack: string): Promise<PlayedTurn[]> {
    return this.client.play(pack, false);
  }

  /** Answers calls of a pack's extensions outside of any turn; returns the completions. */
  answer(pack: string, effects: string[]): Promise<string[]> {
    return this.client.extend(pack, effects);
  }

  /** Loads one after the other, so that what runs is what was asked for last. */
  private load(strict: boolean): Promise<void> {
    this.loading = this.loading.catch(() => {}).then(() => this.loadText(strict));
    return this.loading;
  }

  private check(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    return this.client.check(name, bytes).catch((error: EngineError) => error.message);
  }

  private takeUp(name: string, bytes: Uint8Array): string {
    try {
      this.text = withModule(this.text, name, bytes);
      this.packState = 'edited';
      return '';
    } catch (fault) {
      if (!(fault instanceof JsonFault)) throw fault;
      return `the pack is not JSON, so '${name}' was not taken up: correct it first`;
    }
  }

  private async loadText(strict: boolean): Promise<void> {
    const text = this.text;
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
      if (loaded.accepted) this.running = { pack: text, loaded };
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
    this.suggestions = [...new Set(loaded.turns)].slice(0, 4);
  }

  /** Goes on in another conversation, whose turns are counted from one as the engine counts them. */
  private converse(id: string): void {
    this.conversationId = id;
    this.turnCount = 0;
  }

  private begin(turn: Turn): Turn {
    this.add({ turn });
    this.selected = turn;
    return turn;
  }

  private add(entry: Entry): void {
    this.entries = [...this.entries, entry].slice(-ENTRIES_KEPT);
  }

  private async working(work: () => Promise<void>, turn?: Turn): Promise<void> {
    this.busy = true;
    try {
      await work();
    } catch (error) {
      if (turn) turn.fail(error as EngineError);
      else this.add({ remark: `The pack could not be played: ${(error as EngineError).message}` });
    } finally {
      this.busy = false;
    }
  }

  /** Brings a new worker to where the old one was, unless that pack stops the engine too. */
  private recover(error: EngineError): void {
    if (this.recovering) return;
    this.recovering = true;
    this.add({ remark: `The engine stopped (${error.message}) and was started again. A new conversation begins.` });
    this.converse(newId());
    this.client
      .load(this.running.pack, false)
      .catch((again: EngineError) => {
        this.failure = again;
        this.packState = 'refused';
      })
      .finally(() => (this.recovering = false));
  }
}

function syntaxOf(text: string): SyntaxFault | undefined {
  try {
    spans(text);
    return undefined;
  } catch (fault) {
    if (!(fault instanceof JsonFault)) throw fault;
    return { ...position(text, fault.offset), offset: fault.offset, message: fault.message };
  }
}

/** Makes a random id; `crypto.randomUUID` is missing where the page is served without TLS. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((it) => it.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
