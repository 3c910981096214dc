/** Is the cells of a row, from the left. */
export type TableRow = readonly string[]

/** Aligns columns; the last one is as long as it is. */
export const formatTable = (rows: readonly TableRow[]): string => {
  const widths = columnWidths(rows)
  return rows.map((row) => alignRow(row, widths)).join('\n')
}

/** Measures columns. A cell that is longer than `widest` pushes its own line out, not the whole table. */
export const columnWidths = (rows: readonly TableRow[], maxWidth = Number.POSITIVE_INFINITY): readonly number[] => {
  const widths: number[] = []
  for (const row of rows)
    for (const [i, { length }] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, Math.min(length, maxWidth))
  return widths
}

/** Writes a row in columns of these widths. */
export const alignRow = (row: TableRow, widths: readonly number[]): string =>
  row
    .map((cell, i) => (i === widths.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
    .join('  ')
    .trimEnd()

/** Finds how long the longest of some texts is, of which there may be more than a call takes arguments. */
export const maxLength = (texts: readonly string[]): number =>
  texts.reduce((max, { length }) => Math.max(max, length), 0)
