import type { Issue } from '../types';

/** Lint and what else an editor needs, whose module is loaded on first use. */
export class Linter {
  private loading: Promise<typeof import('convengine-wasm-lint')> | undefined;

  /** Finds all issues of a pack. */
  async issues(pack: string): Promise<Issue[]> {
    const { lint } = await this.load();
    return lint(pack);
  }

  /** Matches texts against the pattern of a row; null where matching takes too many steps. */
  async match(kind: string, pattern: string, texts: string[]): Promise<(boolean | null)[]> {
    const { matchPattern } = await this.load();
    return matchPattern(kind, pattern, texts);
  }

  /** Returns the JSON Schema of documents of a kind, such as `workflow_chain`, as JSON text. */
  async schema(doc: string): Promise<string> {
    const { documentSchema } = await this.load();
    return documentSchema(doc);
  }

  private load(): Promise<typeof import('convengine-wasm-lint')> {
    this.loading ??= import('convengine-wasm-lint').then((it) => it.default().then(() => it));
    // Allows a retry after a failed download.
    this.loading.catch(() => (this.loading = undefined));
    return this.loading;
  }
}
