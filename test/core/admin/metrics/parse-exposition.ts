/** A strict parser of Prometheus' text format 0.0.4, written from the specification without a look at the writer. */

export interface Line {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface ReadFamily {
  readonly help: string
  readonly type: string
  readonly lines: readonly Line[]
}

/** Throws at the first fault. */
export const readExposition = (text: string): ReadonlyMap<string, ReadFamily> => {
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line is not ended')
  const families = new Map<string, { help: string; type: string; lines: Line[] }>()
  let current: { help: string; type: string; lines: Line[] } | null = null
  let name = ''
  for (const line of text.split('\n').slice(0, -1)) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/s.exec(line)
    if (comment !== null) {
      const [, what, of = '', value = ''] = comment
      if (what === 'HELP') {
        if (families.has(of)) throw new Error(`${of} comes twice`)
        current = { help: unescapeText(value, false), type: '', lines: [] }
        families.set(of, current)
        name = of
      } else if (of !== name || current === null || current.type !== '' || current.lines.length > 0)
        throw new Error(`a type out of place: ${line}`)
      else current.type = value
      continue
    }
    const read = readLine(line)
    if (current === null) throw new Error(`no family: ${line}`)
    const suffixes = current.type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    if (!suffixes.some((suffix) => read.name === name + suffix)) throw new Error(`of no family: ${line}`)
    current.lines.push(read)
  }
  return families
}

export const seriesOf = (text: string): ReadonlyMap<string, number> => {
  const series = new Map<string, number>()
  for (const { lines } of readExposition(text).values())
    for (const { name, labels, value } of lines) {
      const key = `${name}${JSON.stringify(Object.entries(labels).sort())}`
      if (series.has(key)) throw new Error(`${key} comes twice`)
      series.set(key, value)
    }
  return series
}

/** Cached: tests sum several names of one long text. */
let lastRead: { readonly text: string; readonly lines: readonly Line[] } = { text: '', lines: [] }

/** Sums the lines of a name with these labels. */
export const total = (text: string, name: string, wanted: Readonly<Record<string, string>> = {}): number => {
  if (text !== lastRead.text)
    lastRead = { text, lines: [...readExposition(text).values()].flatMap(({ lines }) => lines) }
  const found = lastRead.lines.filter(
    (line) => line.name === name && Object.entries(wanted).every(([label, is]) => line.labels[label] === is),
  )
  if (found.length === 0) throw new Error(`no ${name}${JSON.stringify(wanted)}`)
  return found.reduce((sum, { value }) => sum + value, 0)
}

const readLine = (line: string): Line => {
  const [, name, rest = ''] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(.*)$/s.exec(line) ?? []
  if (name === undefined) throw new Error(`no name: ${line}`)
  const labels: Record<string, string> = {}
  let at = 0
  if (rest[0] === '{') {
    at = 1
    while (rest[at] !== '}') {
      const pair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|(?=\}))/s.exec(rest.slice(at))
      if (pair === null) throw new Error(`no label: ${line}`)
      const [whole, label = '', value = ''] = pair
      if (label in labels) throw new Error(`${label} comes twice: ${line}`)
      labels[label] = unescapeText(value, true)
      at += whole.length
    }
    at++
  }
  const [, value] = /^ (\S+)$/.exec(rest.slice(at)) ?? []
  if (value === undefined) throw new Error(`no value: ${line}`)
  return { name, labels, value: readNumber(value) }
}

const readNumber = (text: string): number => {
  if (text === '+Inf') return Number.POSITIVE_INFINITY
  if (text === '-Inf') return Number.NEGATIVE_INFINITY
  if (text === 'NaN') return Number.NaN
  if (!/^-?\d+(\.\d+)?(e[+-]\d+)?$/.test(text)) throw new Error(`not a number: ${text}`)
  return Number(text)
}

const unescapeText = (text: string, quoted: boolean): string =>
  text.replace(/\\(.?)/gs, (_, sign: string) => {
    if (sign === 'n') return '\n'
    if (sign === '\\' || (quoted && sign === '"')) return sign
    throw new Error(`not an escape: \\${sign}`)
  })
