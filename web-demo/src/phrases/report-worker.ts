/** Reports on the classifiers of packs. It has a module of its own, so that a report never delays a turn. */

/** A request: a pack. */
export interface ReportRequest {
  pack: string;
}

/** The reports as JSON, or why there are none. */
export type ReportReply = { reports: string } | { problem: string };

self.onmessage = async ({ data }: MessageEvent<ReportRequest>) => {
  let reply: ReportReply;
  try {
    const lint = await import('convengine-wasm-lint');
    await lint.default();
    reply = { reports: lint.classifierReports(data.pack) };
  } catch (error) {
    reply = { problem: (error as Error).message };
  }
  self.postMessage(reply);
};
