/** Is what a family of metrics may be. */
export type MetricType = 'counter' | 'gauge' | 'histogram'

/** Is a family with what was read for it, as Prometheus takes it. */
export interface Exposed {
  /** Of the alphabet of names, ours; nothing is escaped in it. */
  readonly name: string
  readonly help: string
  readonly type: MetricType
  readonly samples: readonly Sample[]
}

/** Is one series, or those of one histogram. */
export interface Sample {
  /** By name; of two samples of a family, one value at least differs. */
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | Distribution
}

/** Is what a histogram has counted. */
export interface Distribution {
  /** Ascending, each with how many lie at or below it, those of the bounds before it among them; without +Inf. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[]
  readonly sum: number
  readonly count: number
}

/** Names the format, as `Content-Type` has it. */
export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

/** Writes families in the text format of Prometheus, version 0.0.4. One that has no sample is left out. */
export const exposition = (families: readonly Exposed[]): string => {
  const lines: string[] = []
  for (const { name, help, type, samples } of families) {
    if (samples.length === 0) continue
    lines.push(`# HELP ${name} ${escapedHelp(help)}`, `# TYPE ${name} ${type}`)
    for (const { labels, value } of samples) {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
      if (typeof value === 'number') lines.push(line(name, pairs, value))
      else writeDistribution(lines, name, pairs, value)
    }
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

const writeDistribution = (
  lines: string[],
  name: string,
  pairs: readonly string[],
  { buckets, sum, count }: Distribution,
): void => {
  for (const { le, count: below } of buckets)
    lines.push(line(`${name}_bucket`, [...pairs, `le="${number(le)}"`], below))
  lines.push(line(`${name}_bucket`, [...pairs, 'le="+Inf"'], count))
  lines.push(line(`${name}_sum`, pairs, sum), line(`${name}_count`, pairs, count))
}

const line = (name: string, pairs: readonly string[], value: number): string =>
  `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${number(value)}`

/** Writes a number as Go reads one. */
const number = (value: number): string => {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value) // NaN is called so there too
}

// Half of a surrogate pair is no UTF-8.
const escaped = (text: string): string =>
  text.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')

const escapedHelp = (text: string): string => text.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
