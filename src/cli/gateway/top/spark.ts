const blocks = ' ▁▂▃▄▅▆▇█'
// Sums of these are still numbers.
const most = 1e15

const ascii = ' .:-=+*#@'

/**
 * Draws numbers as a line of so many columns, the newest at the right; `all` is how many there are when the time is full, so that a young
 * gateway's line does not begin at the left. Each column is the mean of what it stands for, its height a share of the highest.
 */
export const spark = (values: readonly number[], all: number, columns: number, unicode: boolean): string => {
  const levels = unicode ? blocks : ascii
  const padded = [...Array(Math.max(0, all - values.length)).fill(0), ...values]
  const means = Array.from({ length: columns }, (_, i) => {
    const [from, to] = [i, i + 1].map((at) => Math.round((at * padded.length) / columns)) as [number, number]
    const own = padded.slice(from, Math.max(to, from + 1))
    return own.reduce((sum, value) => sum + Math.min(Math.max(0, value), most), 0) / Math.max(1, own.length)
  })
  const highest = Math.max(...means)
  return means.map((mean) => levels[mean > 0 ? Math.max(1, Math.round((mean / highest) * 8)) : 0]).join('')
}
