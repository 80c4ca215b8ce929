/** Formats the name of a step as words; flow nodes keep `graph/node`. */
export function formatStepName(step: string): string {
  if (step.includes('/')) return step;
  const words = step.replace(/Step$/, '').replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
  return (words.charAt(0) + words.slice(1).toLowerCase()).replace(/^Mcp\b/, 'MCP');
}
