/**
 * What one value of the status is, said once: how the reports of several processes merge, which counts never fall, how
 * the value stands in the JSON of /status, and how a command reads that.
 */
import type { Group } from '../../../operations.ts'
import {
  asBoolean,
  asList,
  asMap,
  asNullable,
  asNumber,
  asObject,
  asText,
  asWord,
  type Decoded,
  type Decoder,
} from '../../lib/text/decode.ts'
import { formatOptionalTime, formatTime } from '../../lib/text/format-time.ts'
import { roundToTenths } from '../../lib/text/units.ts'
import { groupByKey, sum } from '../../log/sum-reports.ts'
import type { OverridesView } from '../overrides.ts'

/** What the gateway knows besides reports. */
export interface StatusContext {
  readonly overrides: Omit<OverridesView, 'operations'>
  /** Describes what proofs of operators are verified with, for the feature that does; null: there are none. */
  operatorKeys(): object | null
  /** The group whose upstream is shown. */
  readonly group?: Group
}

/** Called with the name of a counter and its count; returns the count to put in its place. */
export type CounterMapper = (name: string, count: number) => number

export interface HiddenField<Value> {
  /** Merges the values of workers, at least one. What does not merge is that of `from`: the primary, or one worker. */
  merge(from: Value, workers: readonly Value[]): Value
  /** Walks over its counters: the counts that never fall while a process runs. Absent: it has none. */
  mapCounters?(value: Value, name: string, change: CounterMapper): Value
}

/** A value of a report that /status shows. */
export interface Field<Value, Shown = Value> extends HiddenField<Value> {
  show(value: Value, context: StatusContext): Shown
  readonly decode: Decoder<Shown>
}

/** A value that /status shows and that no process reports: it follows from the others. */
export interface DerivedField<Shown> {
  derive(whole: unknown, context: StatusContext): Shown
  readonly decode: Decoder<Shown>
}

export type Reported<F> = F extends HiddenField<infer Value> ? Value : never

export type Shown<F> = F extends { readonly decode: infer D } ? Decoded<D> : never

type Members = Readonly<Record<string, HiddenField<unknown> | DerivedField<unknown>>>
type ReportedMembers<M> = { readonly [K in keyof M as M[K] extends { merge: unknown } ? K : never]: Reported<M[K]> }
type ShownMembers<M> = { readonly [K in keyof M as M[K] extends { decode: unknown } ? K : never]: Shown<M[K]> }

const keep = <T>(value: T): T => value

/** Creates a value that is not shown. Without `merge` it does not merge. */
export const hidden = <Value>(merge: HiddenField<Value>['merge'] = keep): HiddenField<Value> => ({ merge })

/** Merges what only processes know that the configuration has count. */
export const known = <T>(merge: (workers: readonly T[], from: T) => T | null): HiddenField<T | null> =>
  hidden(
    (from, workers) =>
      from &&
      merge(
        workers.filter((one) => one !== null),
        from,
      ),
  )

/** Creates a value that is shown in another form. Without `merge` it does not merge. */
export const shownAs = <Value, S>(
  decode: Decoder<S>,
  show: (value: Value, context: StatusContext) => S,
  merge: HiddenField<Value>['merge'] = keep,
): Field<Value, S> => ({ decode, show, merge })

export const same = <Value>(decode: Decoder<Value>): Field<Value> => shownAs(decode, keep)

export const text = same(asText)
export const optionalText = same(asNullable(asText))
export const number = same(asNumber)
export const optionalNumber = same(asNullable(asNumber))
export const flag = same(asBoolean)
export const word = <Word extends string>(): Field<Word> => same(asWord<Word>())

/** A time in milliseconds since the epoch, which is shown by RFC 3339. */
export const time: Field<number, string> = shownAs(asText, formatTime)

export const optionalTime = shownAs<number | null, string | null>(asNullable(asText), formatOptionalTime)

/** A number that adds up, and that may fall. */
export const total: Field<number> = { ...number, merge: (_, workers) => sum(workers) }

/** A counter. It never falls, as the counts of a worker that has ended stay. */
export const count: Field<number> = { ...total, mapCounters: (count, name, change) => change(name, count) }

export const counts = <T extends object>(zero: T): { readonly [K in keyof T]: Field<number> } =>
  mapMembers(zero, () => count)

/** The most of some milliseconds, which are shown to a tenth. */
export const highestTenths: Field<number> = shownAs(asNumber, roundToTenths, (_, workers) => Math.max(...workers))

/** Has a member read as null where a gateway of an earlier version does not have it. */
export const orMissing = <Value, S>(field: Field<Value, S>): Field<Value, S | null> => ({
  ...field,
  decode: asNullable(field.decode),
})

/** Creates a member that follows from the record that it stands in. */
export const derived = <Whole, S>(
  decode: Decoder<S>,
  derive: (whole: Whole, context: StatusContext) => S,
): DerivedField<S> => ({ decode, derive: derive as DerivedField<S>['derive'] })

/** Creates a section of the status that processes report by a name. */
export const fromReport = <Name extends string, Value, S>(name: Name, { decode, show }: Field<Value, S>) =>
  derived(decode, ({ report }: { readonly report: Readonly<Record<Name, Value>> }, context) =>
    show(report[name], context),
  )

/** Creates several members that follow together from the record that they stand in. */
export const derivedAll = <Whole, D extends Readonly<Record<string, Decoder<unknown>>>>(
  decoders: D,
  derive: (whole: Whole, context: StatusContext) => { readonly [K in keyof D]: Decoded<D[K]> },
) =>
  mapMembers(decoders, (decode, name) => derived(decode, (whole: Whole, context) => derive(whole, context)[name])) as {
    readonly [K in keyof D]: DerivedField<Decoded<D[K]>>
  }

/** Creates a value of several members, each of which merges by itself. */
export const record = <M extends Members>(members: M): Field<ReportedMembers<M>, ShownMembers<M>> => {
  type Values = Readonly<Record<string, unknown>>
  const reported = membersWith<HiddenField<unknown>>(members, 'merge')
  const counted = membersWith<Required<HiddenField<unknown>>>(members, 'mapCounters')
  const shown = membersWith<Field<unknown> | DerivedField<unknown>>(members, 'decode')
  const whole: Field<Values> = {
    merge: (from, workers) => ({
      ...from,
      ...mapMembers(reported, ({ merge }, name) =>
        merge(
          from[name],
          workers.map((worker) => worker[name]),
        ),
      ),
    }),
    show: (value, context) =>
      mapMembers(shown, (member, name) =>
        'derive' in member ? member.derive(value, context) : member.show(value[name], context),
      ),
    decode: asObject(mapMembers(shown, ({ decode }) => decode)),
    mapCounters: (value, path, change) => ({
      ...value,
      ...mapMembers(counted, ({ mapCounters }, name) =>
        mapCounters(value[name], path === '' ? name : `${path}.${name}`, change),
      ),
    }),
  }
  return whole as Field<unknown> as Field<ReportedMembers<M>, ShownMembers<M>>
}

const membersWith = <Member>(members: Members, part: string) =>
  Object.fromEntries(Object.entries(members).filter(([, member]) => part in member)) as Readonly<Record<string, Member>>

export const mapMembers = <T extends object, R>(members: T, map: (member: T[keyof T], name: keyof T & string) => R) =>
  Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, map(member, name as keyof T & string)]),
  ) as {
    [K in keyof T]: R
  }

/**
 * Creates a value that is null where the configuration does not ask for it, and in processes that know nothing of it:
 * it is merged from those that know.
 */
export const nullable = <Value, S>(field: Field<Value, S>): Field<Value | null, S | null> => ({
  merge(from, workers) {
    const known = workers.filter((one) => one !== null)
    const [first] = known
    return first === undefined ? from : field.merge(from ?? first, known)
  },
  show: (value, context) => (value === null ? null : field.show(value, context)),
  decode: asNullable(field.decode),
  mapCounters: (value, name, change) => (value === null ? value : mapCountersOf(field, value, name, change)),
})

export const mapCountersOf = <Value>(
  field: HiddenField<Value>,
  value: Value,
  name: string,
  change: CounterMapper,
): Value => field.mapCounters?.(value, name, change) ?? value

/**
 * Creates a list of entries that each have a name. An entry that some workers do not have belongs to a reload that is
 * just under way, and is left out.
 */
export const listOf = <Key extends string, Value extends { readonly [K in Key]: string }, S>(
  key: Key,
  entry: Field<Value, S>,
): Field<readonly Value[], readonly S[]> => {
  /** Indexes entries by name and a number: a group may list a URL twice. */
  const index = (all: readonly Value[]): ReadonlyMap<string, Value> =>
    new Map(
      groupByKey(all, (one) => one[key]).flatMap((sameName) =>
        sameName.map((one, i) => [`${i} ${one[key]}`, one] as const),
      ),
    )
  return {
    merge(from, workers) {
      const indexes = workers.map(index)
      return [...index(from)].flatMap(([name, one]) => {
        const found = indexes.flatMap((each) => each.get(name) ?? [])
        return found.length < workers.length ? [] : [entry.merge(one, found)]
      })
    },
    show: (all, context) => all.map((one) => entry.show(one, context)),
    decode: asList(entry.decode),
    mapCounters: (all, name, change) => all.map((one) => mapCountersOf(entry, one, `${name}.${one[key]}`, change)),
  }
}

/** Creates a list as {@link listOf} does that is shown as a map. */
export const mapOf = <Key extends string, Value extends { readonly [K in Key]: string }, S>(
  key: Key,
  entry: Field<Value, S>,
): Field<readonly Value[], Readonly<Record<string, S>>> => ({
  ...listOf(key, entry),
  show: (all, context) => Object.fromEntries(all.map((one) => [one[key], entry.show(one, context)])),
  decode: asMap(entry.decode),
})

/** The state that a worker is in. */
interface WorkerState {
  /** Since when, in milliseconds since the epoch. */
  readonly since: number
  /** How many of several workers are in that state: `in 1 of 2 workers`. Null: all. */
  readonly where: string | null
}

/**
 * Has a value be as in the worst worker: the one that is bad for longest, or of all, where none is bad. What adds up is
 * of all workers.
 */
export const worst = <Value extends WorkerState, S>(
  field: Field<Value, S>,
  isBad: (worker: Value, workers: readonly Value[]) => boolean,
): Field<Value, S> => ({
  ...field,
  merge(_, workers) {
    const bad = workers.filter((one) => isBad(one, workers))
    const candidates = bad.length > 0 ? bad : workers
    const [worst] = candidates.toSorted((a, b) => a.since - b.since)
    return field.merge({ ...(worst as Value), where: workerShareText(candidates.length, workers.length) }, workers)
  },
})

/** Formats how many workers something is true of; null: of all. */
export const workerShareText = (count: number, all: number): string | null =>
  count === all ? null : `in ${count} of ${all} workers`
