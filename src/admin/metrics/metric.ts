import type { Distribution, MetricType, Sample } from './exposition.ts'
import type { Reading } from './reading.ts'

/** A metric but for its name: what it says, and where that is read. */
export interface Definition {
  /** One sentence, as Prometheus shows it. */
  readonly help: string
  readonly type: MetricType
  /** Its labels. Every value of one comes from the catalog, from the file, or is one of a bounded number of words. */
  readonly labels: readonly string[]
  read(reading: Reading): readonly Sample[]
}

/** Metrics by their names, without the prefix that all have. */
export type Metrics = Readonly<Record<string, Definition>>

/** A thing that a metric has a series of, behind the values of its labels, in their order. */
type Row<Labels extends readonly string[], Thing> = readonly [...{ readonly [Label in keyof Labels]: string }, Thing]

type Define<Thing, Value> = (
  help: string,
  find: (thing: Thing, reading: Reading) => Value | null | undefined,
) => Definition

/** Defines metrics that have a series for each of some things: a counter only grows, true is 1, and what is null has no series. */
export const each = <const Labels extends readonly string[], Thing>(
  labels: Labels,
  things: (reading: Reading) => readonly Row<Labels, Thing>[],
) => {
  const defining =
    <Value extends Sample['value'] | boolean>(type: MetricType): Define<Thing, Value> =>
    (help, find) => ({
      help,
      type,
      labels,
      read: (reading) =>
        things(reading).flatMap((row) => {
          const value: Sample['value'] | boolean | null = find(row.at(-1) as Thing, reading) ?? null
          if (value === null) return []
          const named = Object.fromEntries(labels.map((label, i) => [label, row[i] as string]))
          return [{ labels: named, value: typeof value === 'boolean' ? Number(value) : value }]
        }),
    })
  return {
    counter: defining<number>('counter'),
    gauge: defining<number | boolean>('gauge'),
    histogram: defining<Distribution>('histogram'),
  }
}

/** Define metrics without labels. */
export const { counter, gauge } = each([], (reading) => [[reading]])

/** Takes a number as it was counted. */
export const itself = (count: number): number => count

/** Has one series for each of the states that something may be in: 1 for the one that it is in, 0 for the others. */
export const states = <State extends string>(
  all: readonly State[],
  state: State,
): readonly (readonly [State, boolean])[] => all.map((each) => [each, each === state])

/** Counts by reason: those that are expected from the first time on, because whoever reads a rate sees a first one only if there was none before. */
export const counted = (
  expected: readonly string[],
  seen: readonly { readonly reason: string; readonly count: number }[],
): readonly (readonly [reason: string, count: number])[] => {
  const counts = new Map<string, number>(expected.map((reason) => [reason, 0]))
  for (const { reason, count } of seen) counts.set(reason, (counts.get(reason) ?? 0) + count)
  return [...counts]
}
