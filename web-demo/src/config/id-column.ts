/** The column that names the rows of a table: `id`, or the one that is called like the table. */
export function idColumn(table: string, columns: string[]): string | undefined {
  const named = (end: string) => columns.find((it) => it.endsWith(end) && table.includes(it.slice(0, -end.length)));
  return columns.includes('id') ? 'id' : (named('_id') ?? named('_code') ?? columns.find((it) => it.endsWith('_id')));
}
