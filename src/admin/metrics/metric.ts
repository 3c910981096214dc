import type { MetricInputs } from './metric-inputs.ts'

/** A metric but for its name: what it says, and where that is read. */
export interface MetricDefinition {
  /** One sentence, as Prometheus shows it. */
  readonly help: string
  readonly type: MetricType
  /** Its labels. Every value of one comes from the catalog, from the file, or is one of a bounded number of words. */
  readonly labels: readonly string[]
  read(reading: MetricInputs): readonly MetricSample[]
}

/** Metrics by their names, without the prefix that all have. */
export type MetricDefinitions = Readonly<Record<string, MetricDefinition>>

/** A thing that a metric has a series of, behind the values of its labels, in their order. */
type Row<Labels extends readonly string[], Thing> = readonly [...{ readonly [Label in keyof Labels]: string }, Thing]

type Define<Thing, Value> = (
  help: string,
  find: (thing: Thing, reading: MetricInputs) => Value | null | undefined,
) => MetricDefinition

/** Defines metrics that have a series for each of some things: a counter only grows, true is 1, and what is null has no series. */
export const seriesFor = <const Labels extends readonly string[], Thing>(
  labels: Labels,
  things: (reading: MetricInputs) => readonly Row<Labels, Thing>[],
) => {
  const defining =
    <Value extends MetricSample['value'] | boolean>(type: MetricType): Define<Thing, Value> =>
    (help, find) => ({
      help,
      type,
      labels,
      read: (reading) =>
        things(reading).flatMap((row) => {
          const value: MetricSample['value'] | boolean | null = find(row.at(-1) as Thing, reading) ?? null
          if (value === null) return []
          const named = Object.fromEntries(labels.map((label, i) => [label, row[i] as string]))
          return [{ labels: named, value: typeof value === 'boolean' ? Number(value) : value }]
        }),
    })
  return {
    counter: defining<number>('counter'),
    gauge: defining<number | boolean>('gauge'),
    histogram: defining<HistogramValue>('histogram'),
  }
}

/** Define metrics without labels. */
export const { counter, gauge } = seriesFor([], (inputs) => [[inputs]])

/** Takes a number as it was counted. */
export const asCounted = (count: number): number => count

/** Has one series for each of the states that something may be in: 1 for the one that it is in, 0 for the others. */
export const stateSeries = <State extends string>(
  all: readonly State[],
  state: State,
): readonly (readonly [State, boolean])[] => all.map((each) => [each, each === state])

/** Counts by reason: those that are expected from the first time on, because whoever reads a rate sees a first one only if there was none before. */
export const countByReason = (
  expected: readonly string[],
  seen: readonly { readonly reason: string; readonly count: number }[],
): readonly (readonly [reason: string, count: number])[] => {
  const counts = new Map<string, number>(expected.map((reason) => [reason, 0]))
  for (const { reason, count } of seen) counts.set(reason, (counts.get(reason) ?? 0) + count)
  return [...counts]
}

/** Is what a family of metrics may be. */
export type MetricType = 'counter' | 'gauge' | 'histogram'

/** Is a family with what was read for it, as Prometheus takes it. */
export interface MetricFamily {
  /** Of the alphabet of names, ours; nothing is escaped in it. */
  readonly name: string
  readonly help: string
  readonly type: MetricType
  readonly samples: readonly MetricSample[]
}

/** Is one series, or those of one histogram. */
export interface MetricSample {
  /** By name; of two samples of a family, one value at least differs. */
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | HistogramValue
}

/** Is what a histogram has counted. */
export interface HistogramValue {
  /** Ascending, each with how many lie at or below it, those of the bounds before it among them; without +Inf. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[]
  readonly sum: number
  readonly count: number
}

/** Names the format, as `Content-Type` has it. */
export const expositionContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** Writes families in the text format of Prometheus, version 0.0.4. One that has no sample is left out. */
export const renderExposition = (families: readonly MetricFamily[]): string => {
  const lines: string[] = []
  for (const { name, help, type, samples } of families) {
    if (samples.length === 0) continue
    lines.push(`# HELP ${name} ${escapedHelp(help)}`, `# TYPE ${name} ${type}`)
    for (const { labels, value } of samples) {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
      if (typeof value === 'number') lines.push(line(name, pairs, value))
      else renderHistogram(lines, name, pairs, value)
    }
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

const renderHistogram = (
  lines: string[],
  name: string,
  pairs: readonly string[],
  { buckets, sum, count }: HistogramValue,
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
