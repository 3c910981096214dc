/** Draws a profile as one bar for each owner of code, cut up by its parts: an SVG that stands for itself. */
import { readFile, writeFile } from 'node:fs/promises'
import { type ProfilePlace, placesOfPerf, placesOfProfile } from './profile-shares.ts'

/** Reads a `.cpuprofile` or a `.perf.txt` and writes the picture. */
export const drawPicture = async ({ from, to }: { readonly from: string; readonly to: string }): Promise<void> => {
  const text = await readFile(from, 'utf8')
  const perf = from.endsWith('.perf.txt')
  const title = perf
    ? 'CPU time by what the code belongs to (perf)'
    : 'Wall time of JavaScript by what the code belongs to (V8)'
  const bars = barsOf(perf ? placesOfPerf(text) : placesOfProfile(text))
  await writeFile(to, svg(title, bars))
  for (const { owner, share } of bars) console.log(`${percent(share).padStart(6)}  ${owner}`)
}

export interface Bar {
  readonly owner: string
  /** Of the whole, 0 to 1. */
  readonly share: number
  readonly parts: readonly { readonly name: string; readonly share: number }[]
}

/** Parts that are shown by themselves; what is less stands together. */
const shownParts = 8
/** The least share of an owner that is shown by itself. */
const leastShare = 0.004

/** Sums up places by owner, the largest first; what is too small to see stands together at the end. */
export const barsOf = (places: readonly ProfilePlace[]): readonly Bar[] => {
  const whole = places.reduce((sum, { weight }) => sum + weight, 0)
  const sums = summed(places.map(({ owner, weight }) => [owner, weight / whole]))
  const shown = sums.filter(([, share]) => share >= leastShare)
  const bars = shown.map(([owner, share]): Bar => {
    const own = places.filter((place) => place.owner === owner)
    const parts = summed(own.map(({ part, weight }) => [part, weight / whole])).map(([name, each]) => ({
      name,
      share: each,
    }))
    const rest = parts.slice(shownParts).reduce((sum, each) => sum + each.share, 0)
    return {
      owner,
      share,
      parts: [...parts.slice(0, shownParts), ...(rest > 0 ? [{ name: 'the rest', share: rest }] : [])],
    }
  })
  const left = 1 - shown.reduce((sum, [, share]) => sum + share, 0)
  return left < 1e-9 ? bars : [...bars, { owner: 'all else', share: left, parts: [{ name: 'all else', share: left }] }]
}

const summed = (pairs: readonly (readonly [string, number])[]): readonly (readonly [string, number])[] => {
  const sums = new Map<string, number>()
  for (const [name, share] of pairs) sums.set(name, (sums.get(name) ?? 0) + share)
  return [...sums].sort(([, one], [, other]) => other - one)
}

const [width, labels, rowHeight, top] = [960, 230, 28, 44]
/** Light enough for black letters on a white page and on a dark one. */
const colors = ['#8dd3c7', '#fdb462', '#80b1d3', '#fb8072', '#b3de69', '#fccde5', '#bebada', '#ffed6f', '#d9d9d9']

const svg = (title: string, bars: readonly Bar[]): string => {
  const height = top + bars.length * rowHeight + 8
  const scale = (width - labels - 20) / Math.max(...bars.map(({ share }) => share))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">
<title>${escaped(title)}</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="12" y="26" font-size="16">${escaped(title)}</text>
${bars.map((bar, row) => drawn(bar, top + row * rowHeight, scale)).join('\n')}
</svg>
`
}

const drawn = ({ owner, share, parts }: Bar, y: number, scale: number): string => {
  let x = labels
  const pieces = parts.map((part, index) => {
    const long = part.share * scale
    const name = `${part.name} ${percent(part.share)}`
    const short = shortened(part.name)
    const fits = long > short.length * 6 + 8
    const piece =
      `<g><title>${escaped(`${owner}: ${name}`)}</title>` +
      `<rect x="${x.toFixed(1)}" y="${y}" width="${long.toFixed(1)}" height="${rowHeight - 6}" fill="${colors[index]}" stroke="#fff"/>` +
      `${fits ? `<text x="${(x + 4).toFixed(1)}" y="${y + 15}" font-size="11">${escaped(short)}</text>` : ''}</g>`
    x += long
    return piece
  })
  const label = `<text x="${labels - 8}" y="${y + 15}" text-anchor="end">${escaped(`${owner}  ${percent(share)}`)}</text>`
  return label + pieces.join('')
}

/** Leaves of a file its name: the whole path shows when the part is pointed at. */
const shortened = (name: string): string => name.replace(/^.*\/(?=.)/, '').replace(/\.[cm]?[jt]s$/, '')

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
