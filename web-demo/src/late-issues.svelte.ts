/** Issues that take longer to find than a pack to load: those of lint, of scripts, and of phrases. */
import { addScriptIssues } from './flow/script-issues';
import { locateIssues } from './locate';
import { PhraseIndex, phraseIssues } from './phrases/places';
import { Reporter } from './phrases/reporter';
import { mayHavePhrases, type PhraseReport } from './phrases/report';
import type { Simulator } from './simulator.svelte';
import type { LoadedPack } from './protocol';
import type { Issue } from './types';

/** How long phrases must stay as they are before they are reported on. */
const REPORT_DELAY_MS = 250;

/** Finds such issues, and adds them to those of the simulator. */
export class LateIssues {
  /** The newest reports on phrases; `undefined` before the first ones. */
  reports = $state.raw<PhraseReport[]>();
  /** Whether newer reports are to come. */
  reporting = $state(false);
  /** Why there are no reports. */
  problem = $state('');
  private isSameSession: () => boolean;

  constructor(
    private readonly simulator: Pick<Simulator, 'text' | 'issues' | 'sessionCheck'> & { client: Pick<Simulator['client'], 'checkScripts' | 'lint'> },
    private readonly reporter: Pick<Reporter, 'report'> = new Reporter(),
  ) {
    this.isSameSession = simulator.sessionCheck();
  }

  /** Adds the issues that the newest reports find in a text, so that marks stay where they are while it is edited. */
  addKnown(text: string, issues: Issue[]): Issue[] {
    return this.reports && this.isSameSession() ? [...issues, ...phraseIssues(new PhraseIndex(text), this.reports)] : issues;
  }

  /** Finds the issues of a text that has been loaded with others. What it finds is dropped if the text is outdated. */
  async find(text: string, { issues: known, linted }: Pick<LoadedPack, 'issues' | 'linted'>): Promise<void> {
    const { simulator } = this;
    const isCurrent = () => text === simulator.text;
    const issues = linted ? known : await simulator.client.lint(text).catch(() => known);
    if (!isCurrent()) return;
    let all = issues;
    const show = () => (simulator.issues = locateIssues(text, this.addKnown(text, all)));
    if (!this.isSameSession()) {
      this.isSameSession = simulator.sessionCheck();
      this.reports = undefined;
    }
    if (!linted) show();
    void addScriptIssues(simulator.client, text, issues).then((it) => it && isCurrent() && ((all = it), show()));
    this.reporting = mayHavePhrases(text);
    if (this.reporting) await new Promise((resolve) => setTimeout(resolve, REPORT_DELAY_MS));
    if (!isCurrent()) return;
    const reports = this.reporting ? await this.report(text, isCurrent) : [];
    if (!isCurrent()) return;
    this.reporting = false;
    // The classifiers of a document with errors are unknown.
    if (!reports || (reports.length === 0 && issues.some((it) => it.severity === 'error'))) return;
    const before = this.reports ?? [];
    this.reports = reports;
    if (before.length + reports.length > 0) show();
  }

  private async report(text: string, isCurrent: () => boolean): Promise<PhraseReport[] | undefined> {
    try {
      const reports = await this.reporter.report(text, isCurrent);
      if (reports) this.problem = '';
      return reports;
    } catch (error) {
      if (isCurrent()) this.problem = (error as Error).message;
      return undefined;
    }
  }
}
