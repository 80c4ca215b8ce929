/** Returns the kind of a trace event without the prefix that those of workflow graphs have. */
export function plainStage(stage: string): string {
  return stage.replace(/^workflow\./, '');
}
