import type { RequestMetricsReport } from '../../log/metrics/request-metrics.ts'
import type { ReloadCount } from '../../runtime/reload/reload-history.ts'
import type { FindingInputs } from '../findings/finding-inputs.ts'

export interface MetricInputs extends FindingInputs {
  readonly requestMetrics: RequestMetricsReport
  readonly ready: boolean
  readonly reloads: readonly ReloadCount[]
  readonly certificates: readonly { readonly key: string; readonly notAfter: number }[]
}

interface MetricDefinition {
  readonly help: string
  readonly type: MetricType
  /** Bounded cardinality: values come from the catalog, the configuration or a fixed set. */
  readonly labels: readonly string[]
  read(inputs: MetricInputs): readonly MetricSample[]
}

export type MetricDefinitions = Readonly<Record<string, MetricDefinition>>

type Row<Labels extends readonly string[], Thing> = readonly [...{ readonly [Label in keyof Labels]: string }, Thing]

type Find<Thing, Value> = MemberOf<Thing, Value> | ((thing: Thing, inputs: MetricInputs) => Value | null | undefined)

type MemberOf<Thing, Value> = [Thing] extends [object]
  ? { [Name in keyof Thing]: Thing[Name] extends Value | null | undefined ? Name : never }[keyof Thing]
  : never

type Define<Thing, Value> = (
  help: string,
  ...find: [Thing] extends [Value] ? [find?: Find<Thing, Value>] : [find: Find<Thing, Value>]
) => MetricDefinition

/** True is 1; null has no series. */
export const seriesFor = <const Labels extends readonly string[], Thing>(
  labels: Labels,
  things: (inputs: MetricInputs) => readonly Row<Labels, Thing>[],
) => {
  const defining =
    <Value extends MetricSample['value'] | boolean>(type: MetricType): Define<Thing, Value> =>
    (help, ...[find]) => ({
      help,
      type,
      labels,
      read: (inputs) =>
        things(inputs).flatMap((row) => {
          const thing = row.at(-1) as Thing
          const found: unknown = typeof find === 'function' ? find(thing, inputs) : find ? thing[find] : thing
          const value = found as MetricSample['value'] | boolean | null | undefined
          if (value == null) return []
          const labeled = Object.fromEntries(labels.map((label, i) => [label, row[i] as string]))
          return [{ labels: labeled, value: typeof value === 'boolean' ? Number(value) : value }]
        }),
    })
  return {
    counter: defining<number>('counter'),
    gauge: defining<number | boolean>('gauge'),
    histogram: defining<HistogramValue>('histogram'),
  }
}

export const seriesOfCounts =
  <const Key extends string, Counted>(
    key: Key,
    things: (inputs: MetricInputs) => readonly (readonly [string, Counted])[],
  ) =>
  <const Label extends string>(label: Label, read: (counted: Counted) => Readonly<Record<string, number>>) =>
    seriesFor([key, label], (inputs) =>
      things(inputs).flatMap(([name, counted]) =>
        Object.entries(read(counted)).map(([each, count]) => [name, each, count] as const),
      ),
    )

/** Metrics without labels. No series while the thing is null. */
export const metricsOf = <Thing>(find: (inputs: MetricInputs) => Thing | null | undefined) =>
  seriesFor([], (inputs) => {
    const thing = find(inputs) ?? null
    return thing === null ? [] : [[thing]]
  })

export const { counter, gauge } = metricsOf((inputs) => inputs)

export const stateSeries = <State extends string>(
  all: readonly State[],
  state: State,
): readonly (readonly [State, boolean])[] => all.map((each) => [each, each === state])

/** Expected rows come first, with 0: Prometheus sees no rate in the first sample of a series. */
export const addUp = <Counted extends readonly [...labels: string[], count: number]>(
  rows: readonly Counted[],
): readonly Counted[] => {
  const sums = new Map<string, Counted>()
  for (const row of rows) {
    const key = row.slice(0, -1).join('\n')
    const before = sums.get(key)
    if (before === undefined) sums.set(key, row)
    else sums.set(key, row.with(-1, (before.at(-1) as number) + (row.at(-1) as number)) as unknown as Counted)
  }
  return [...sums.values()]
}

type MetricType = 'counter' | 'gauge' | 'histogram'

export interface MetricFamily extends Pick<MetricDefinition, 'help' | 'type'> {
  readonly name: string
  readonly samples: readonly MetricSample[]
}

export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | HistogramValue
}

export interface HistogramValue {
  /** Ascending and cumulative, without +Inf. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[]
  readonly sum: number
  readonly count: number
}

export const expositionContentType = 'text/plain; version=0.0.4; charset=utf-8'

export const renderExposition = (families: readonly MetricFamily[]): string => {
  const lines: string[] = []
  for (const { name, help, type, samples } of families) {
    if (samples.length === 0) continue
    lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`)
    for (const { labels, value } of samples) {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
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

const number = (value: number): string => {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value) // NaN has the same name in Go
}

const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')

// Half of a surrogate pair is no UTF-8.
const escapeHelp = (text: string): string => text.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
