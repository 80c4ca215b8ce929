/** The packs of a folder that `convengine dev` serves: what is edited here is saved there, and what is saved there is replayed here. */
import { untrack } from 'svelte';
import type { Simulator } from '../simulator.svelte';

/** How long the text must rest before it is saved. */
const PAUSE_MS = 400;

/** What the server tells of. */
type Change = { kind: 'file'; name: string; hash: string } | { kind: 'talks'; passed: boolean; output: string };

/** The open project. */
export class Project {
  /** The names of its packs. */
  files = $state.raw<string[]>([]);
  /** The name of the open pack. */
  file = $state('');
  /** How the last edit was saved. */
  saved = $state<'saved' | 'saving' | 'conflict' | 'failed'>('saved');
  /** Why it was not saved. */
  reason = $state('');
  /** What the talks gave when they were played last. */
  talks = $state.raw<{ passed: boolean; output: string }>();

  /** The text that the folder is known to have, and its tag. */
  private onDisk = { text: '', tag: '' };
  private pause: ReturnType<typeof setTimeout> | undefined;
  private saving: Promise<void> = Promise.resolve();

  constructor(private readonly simulator: Simulator) {}

  /** Opens the first pack, and follows the folder. */
  async start(): Promise<void> {
    await this.list();
    await this.open(this.files[0] ?? '');
    const events = new EventSource('dev/events');
    events.addEventListener('change', (event) => void this.follow(JSON.parse((event as MessageEvent<string>).data) as Change));
    for (const name of ['missed', 'open']) events.addEventListener(name, () => void this.reload());
    $effect.root(() => {
      $effect(() => {
        const { text } = this.simulator;
        // What becomes of a save is no new text, else a refused one would be sent again and again.
        untrack(() => this.saveSoon(text));
      });
    });
  }

  /** Opens a pack of the folder in place of another one. */
  async open(name: string): Promise<void> {
    await this.saveNow();
    const read = await this.read(name);
    if (!read) return;
    this.file = name;
    this.onDisk = read;
    this.saved = 'saved';
    await this.simulator.openPack(read.text);
    if (this.simulator.packInputs.length > 0) await this.simulator.playPack(true);
    else this.simulator.restart();
  }

  /** Writes the text over what the folder has by now. */
  async overwrite(): Promise<void> {
    const read = await this.read(this.file);
    if (read) this.onDisk = read;
    this.saved = 'saving';
    await this.saveNow();
  }

  /** Takes what the folder has in place of the text. */
  async discard(): Promise<void> {
    const read = await this.read(this.file);
    if (read) this.show(read);
  }

  private async list(): Promise<void> {
    const response = await fetch('dev/project');
    if (response.ok) this.files = ((await response.json()) as { files: string[] }).files;
  }

  private async follow(change: Change): Promise<void> {
    if (change.kind === 'talks') this.talks = change;
    else if (!this.files.includes(change.name)) await this.list();
    else if (change.name === this.file && `"${change.hash}"` !== this.onDisk.tag) await this.reload();
  }

  /** Shows what the folder has, unless the text has changes that it lacks. */
  private async reload(): Promise<void> {
    await this.saving;
    const read = await this.read(this.file);
    if (!read || read.tag === this.onDisk.tag) return;
    if (this.simulator.text === this.onDisk.text) this.show(read);
    else this.saved = 'conflict';
  }

  private show(read: { text: string; tag: string }): void {
    this.onDisk = read;
    this.saved = 'saved';
    this.simulator.edit(read.text);
  }

  private saveSoon(text: string): void {
    clearTimeout(this.pause);
    if (text === this.onDisk.text || this.saved === 'conflict') return;
    this.saved = 'saving';
    this.pause = setTimeout(() => void this.saveNow(), PAUSE_MS);
  }

  /** Saves the text if the folder lacks it; one after the other. */
  private saveNow(): Promise<void> {
    clearTimeout(this.pause);
    this.saving = this.saving.then(() => this.save());
    return this.saving;
  }

  private async save(): Promise<void> {
    const { text } = this.simulator;
    if (this.file === '' || text === this.onDisk.text || this.saved === 'conflict') return;
    try {
      const response = await fetch(this.address(this.file), { method: 'PUT', headers: { 'If-Match': this.onDisk.tag }, body: text });
      if (response.ok) {
        this.onDisk = { text, tag: response.headers.get('ETag') ?? '' };
        this.saved = 'saved';
      } else {
        this.reason = (await response.text()).trim() || `the server answers with HTTP ${response.status}`;
        this.saved = response.status === 412 ? 'conflict' : 'failed';
      }
    } catch {
      this.reason = 'the server cannot be reached';
      this.saved = 'failed';
    }
  }

  private async read(name: string): Promise<{ text: string; tag: string } | undefined> {
    const response = await fetch(this.address(name)).catch(() => undefined);
    return response?.ok ? { text: await response.text(), tag: response.headers.get('ETag') ?? '' } : undefined;
  }

  private address(name: string): string {
    return `dev/files/${encodeURIComponent(name)}`;
  }
}
