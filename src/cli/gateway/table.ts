/** Is the cells of a row, from the left. */
export type Row = readonly string[]

/** Aligns columns; the last one is as long as it is. */
export const table = (rows: readonly Row[]): string => {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0))
  const columns = Math.max(...rows.map((row) => row.length))
  const widths = Array.from({ length: columns - 1 }, (_, column) => width(column))
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
