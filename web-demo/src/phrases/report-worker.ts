/** Reports on the classifiers of packs. It has engines of its own, so that a report never delays a turn. */
import { isFlowPack } from '../flow/flow-pack';

/** A request: a pack. */
export interface ReportRequest {
  pack: string;
}

/** The reports as JSON, or why there are none. */
export type ReportReply = { reports: string } | { problem: string };

self.onmessage = async ({ data }: MessageEvent<ReportRequest>) => {
  let reply: ReportReply;
  try {
    const engine = await (isFlowPack(data.pack) ? import('convengine-wasm-flow') : import('convengine-wasm'));
    await engine.default();
    reply = { reports: engine.classifier_reports(data.pack) };
  } catch (error) {
    reply = { problem: (error as Error).message };
  }
  self.postMessage(reply);
};
