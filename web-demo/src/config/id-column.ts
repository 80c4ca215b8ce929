/** The id column of a table: `id`, or the one named after the table. */
export function idColumn(table: string, columns: string[]): string | undefined {
  const findByName = (end: string) => columns.find((it) => it.endsWith(end) && table.includes(it.slice(0, -end.length)));
  return columns.includes('id') ? 'id' : (findByName('_id') ?? findByName('_code') ?? columns.find((it) => it.endsWith('_id')));
}
