export type Row = readonly string[]

/**
 * Writes a Markdown table with padded cells; the first `names` columns are text and the rest figures. Empty for no
 * rows.
 */
export const table = (head: Row, rows: readonly Row[], names: number): string => {
  if (rows.length === 0) return ''
  const widths = head.map((cell, column) => Math.max(3, cell.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: Row): string =>
    `| ${row
      .map((cell, column) => (column < names ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join(' | ')} |`
  const rule = widths.map((width, column) => (column < names ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}
