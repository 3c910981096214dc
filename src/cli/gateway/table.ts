/** Is the cells of a row, from the left. */
export type Row = readonly string[]

/** Aligns columns; the last one is as long as it is. */
export const table = (rows: readonly Row[]): string => {
  const widths: number[] = []
  for (const row of rows) for (const [i, { length }] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, length)
  const last = widths.length - 1
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === last ? cell : cell.padEnd(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Finds how long the longest of some texts is, of which there may be more than a call takes arguments. */
export const longest = (texts: readonly string[]): number =>
  texts.reduce((most, { length }) => Math.max(most, length), 0)
