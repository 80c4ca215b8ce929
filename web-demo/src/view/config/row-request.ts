/** A row that the table is asked to show; a new one for each time it is asked. */
export interface RowRequest {
  table: string;
  /** As issues name it. */
  row: string | undefined;
  id: string | undefined;
  column: string | undefined;
}
