/** Is how a line stands out where there are colours. */
export type Tone = 'plain' | 'title' | 'good' | 'warning' | 'critical'

/** Is a line of the screen; what is in it is harmless to a terminal. */
export interface Line {
  readonly text: string
  readonly tone: Tone
}

/** Is what a screen can do. */
export interface Means {
  readonly columns: number
  readonly rows: number
  readonly colour: boolean
  readonly unicode: boolean
}

const codes: Readonly<Record<Tone, string>> = {
  plain: '',
  title: '\u001b[1m',
  good: '\u001b[32m',
  warning: '\u001b[33m',
  critical: '\u001b[31;1m',
}

/** Makes a line. */
export const line = (text: string, tone: Tone = 'plain'): Line => ({ text, tone })

/** Writes a line as a screen shows it: no wider than that, and without characters that it does not have. */
export const drawn = ({ text, tone }: Line, { columns, colour, unicode }: Omit<Means, 'rows'>): string => {
  const shown = cut(
    unicode ? text : text.replaceAll('’', "'").replaceAll(/[^\x20-\x7e]/g, '?'),
    columns,
    unicode ? '…' : '~',
  )
  return colour && tone !== 'plain' ? `${codes[tone]}${shown}\u001b[0m` : shown
}

// Far more than a cause in words has.
const mostWrapped = 2000

/** Breaks a line at blanks so that all of it is seen, each further one indented; a word that is longer than the window is cut. */
export const wrapped = ({ text, tone }: Line, columns: number, indent: number): readonly Line[] => {
  if (columns <= 2 * indent) return [line(text, tone)]
  const lines: Line[] = []
  let rest = text.slice(0, mostWrapped)
  while (rest.length > columns) {
    const at = rest.lastIndexOf(' ', columns)
    if (at <= indent) break
    lines.push(line(rest.slice(0, at).trimEnd(), tone))
    rest = ' '.repeat(indent) + rest.slice(at).trimStart()
  }
  return [...lines, line(rest, tone)]
}

const cut = (text: string, columns: number, mark: string): string => {
  if (text.length <= columns) return text
  const characters = [...text]
  return characters.length <= columns ? text : `${characters.slice(0, Math.max(0, columns - 1)).join('')}${mark}`
}
