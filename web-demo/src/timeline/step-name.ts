/** Writes the name of a step as words; a node of a flow keeps its own, `graph/node`. */
export function formatStepName(step: string): string {
  if (step.includes('/')) return step;
  const words = step.replace(/Step$/, '').replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
  return (words.charAt(0) + words.slice(1).toLowerCase()).replace(/^Mcp\b/, 'MCP');
}
