export type TableRow = readonly string[]

export const formatTable = (rows: readonly TableRow[]): string => {
  const widths = columnWidths(rows)
  return rows.map((row) => alignRow(row, widths)).join('\n')
}

/** A longer cell shifts only its own line. */
export const columnWidths = (rows: readonly TableRow[], maxWidth = Number.POSITIVE_INFINITY): readonly number[] => {
  const widths: number[] = []
  for (const row of rows)
    for (const [i, { length }] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, Math.min(length, maxWidth))
  return widths
}

export const alignRow = (row: TableRow, widths: readonly number[]): string => {
  const padded = row.map((cell, i) => (i === widths.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
  return padded.join('  ').trimEnd()
}

/** Math.max(...) limits the number of texts. */
export const maxLength = (texts: readonly string[]): number =>
  texts.reduce((max, { length }) => Math.max(max, length), 0)

export const renderCounts = (counts: Readonly<Record<string, number>>): string => {
  const counted = Object.entries(counts).filter(([, count]) => count > 0)
  return counted.length === 0 ? '0' : counted.map(([reason, count]) => `${count} ${reason}`).join(', ')
}
