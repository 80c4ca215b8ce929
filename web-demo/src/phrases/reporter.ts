import type { ReportReply, ReportRequest } from './report-worker';
import type { PhraseReport } from './report';

/** The part of a worker that a reporter uses. */
export interface ReportWorker {
  onmessage: ((event: MessageEvent<ReportReply>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(request: ReportRequest): void;
  terminate(): void;
}

/** Requests reports from a worker, one at a time. */
export class Reporter {
  private worker: ReportWorker | undefined;
  private running: Promise<unknown> | undefined;

  constructor(private readonly start: () => ReportWorker = startWorker) {}

  /** Reports on a pack after the report that is being made; `undefined` if the pack is outdated by then. */
  async report(pack: string, isCurrent: () => boolean): Promise<PhraseReport[] | undefined> {
    while (this.running) await this.running.catch(() => {});
    if (!isCurrent()) return undefined;
    const running = this.request(pack);
    this.running = running;
    const reports = await running.finally(() => (this.running = undefined));
    return isCurrent() ? reports : undefined;
  }

  private request(pack: string): Promise<PhraseReport[]> {
    const worker = (this.worker ??= this.start());
    return new Promise((resolve, reject) => {
      // The memory of an engine that has failed may be corrupt.
      const fail = (problem: string) => {
        worker.terminate();
        this.worker = undefined;
        reject(new Error(problem));
      };
      worker.onmessage = ({ data }) => ('reports' in data ? resolve(JSON.parse(data.reports) as PhraseReport[]) : fail(data.problem));
      worker.onerror = (event) => {
        event.preventDefault();
        fail(event.message);
      };
      worker.postMessage({ pack });
    });
  }
}

function startWorker(): ReportWorker {
  return new Worker(new URL('./report-worker.ts', import.meta.url), { type: 'module' });
}
