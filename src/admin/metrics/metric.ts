import type { Distribution, Exposed, MetricType, Sample } from './exposition.ts'
import type { Reading } from './reading.ts'

/** Is one of the metrics that there are: what it is called, what it says, and where that is read. */
export interface Metric {
  /** With the prefix that all have. */
  readonly name: string
  /** One sentence, as Prometheus shows it. */
  readonly help: string
  readonly type: MetricType
  /** Names its labels. Every value of one comes from the catalog, from the file, or is one of a bounded number of words. */
  readonly labels: readonly string[]
  read(reading: Reading): readonly Sample[]
}

/** Is a series: the values of its labels, in their order, and what it is at. */
export type Row<Labels extends readonly string[], Value> = readonly [
  ...{ readonly [Label in keyof Labels]: string },
  Value,
]

type Define<Value> = <const Labels extends readonly string[]>(
  name: string,
  help: string,
  labels: Labels,
  read: (reading: Reading) => readonly Row<Labels, Value>[],
) => Metric

/** Begins every name. */
export const prefix = 'lender_gateway_'

const defining =
  <Value extends Sample['value']>(type: MetricType): Define<Value> =>
  (name, help, labels, read) => ({
    name: `${prefix}${name}`,
    help,
    type,
    labels,
    read: (reading) =>
      read(reading).map((row) => ({
        labels: Object.fromEntries(labels.map((label, i) => [label, row[i] as string])),
        value: row.at(-1) as Value,
      })),
  })

/** Defines what only grows. */
export const counter = defining<number>('counter')

/** Defines what goes up and down. */
export const gauge = defining<number>('gauge')

/** Defines how many were how large. */
export const histogram = defining<Distribution>('histogram')

/** Has one series for each of the states that something may be in: 1 for the one that it is in, 0 for the others. */
export const states = <State extends string>(
  all: readonly State[],
  state: State,
): readonly (readonly [State, number])[] => all.map((each) => [each, each === state ? 1 : 0])

/** Reads a metric. */
export const expose = ({ name, help, type, read }: Metric, reading: Reading): Exposed => ({
  name,
  help,
  type,
  samples: read(reading),
})

/** Counts by reason: those that are expected from the first time on, because whoever reads a rate sees a first one only if there was none before. */
export const counted = (
  expected: readonly string[],
  seen: readonly { readonly reason: string; readonly count: number }[],
): readonly (readonly [reason: string, count: number])[] => {
  const counts = new Map<string, number>(expected.map((reason) => [reason, 0]))
  for (const { reason, count } of seen) counts.set(reason, (counts.get(reason) ?? 0) + count)
  return [...counts]
}
