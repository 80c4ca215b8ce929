/** Writes the name of a step as words. */
export function stepName(step: string): string {
  const words = step.replace(/Step$/, '').replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
  return (words.charAt(0) + words.slice(1).toLowerCase()).replace(/^Mcp\b/, 'MCP');
}
