/** Is the cells of a row, from the left. */
export type Row = readonly string[]

/** Aligns columns; the last one is as long as it is. */
export const table = (rows: readonly Row[]): string => {
  const widths = widthsOf(rows)
  return rows.map((row) => aligned(row, widths)).join('\n')
}

/** Measures columns. A cell that is longer than `widest` pushes its own line out, not the whole table. */
export const widthsOf = (rows: readonly Row[], widest = Number.POSITIVE_INFINITY): readonly number[] => {
  const widths: number[] = []
  for (const row of rows)
    for (const [i, { length }] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, Math.min(length, widest))
  return widths
}

/** Writes a row in columns of these widths. */
export const aligned = (row: Row, widths: readonly number[]): string =>
  row
    .map((cell, i) => (i === widths.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
    .join('  ')
    .trimEnd()

/** Finds how long the longest of some texts is, of which there may be more than a call takes arguments. */
export const longest = (texts: readonly string[]): number =>
  texts.reduce((most, { length }) => Math.max(most, length), 0)
