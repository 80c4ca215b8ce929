/** A request to show a row in the table; a new object for each request. */
export interface RowRequest {
  table: string;
  /** The row as issues name it. */
  row: string | undefined;
  id: string | undefined;
  column: string | undefined;
}
