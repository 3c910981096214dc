/** How processes merge a status value, whether it never falls, and how /status and commands show it. */
import type { Group } from '../../../operations.ts'
import { type Beside, insertBeside } from '../../lib/beside.ts'
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

export interface StatusContext {
  readonly overrides: Omit<OverridesView, 'operations'>
  operatorKeys(): object | null
  readonly group?: Group
}

export type CounterMapper = (name: string, count: number) => number

export interface HiddenField<Value> {
  /**
   * `workers` has at least one value. A value that cannot be merged stays that of `from`: the primary, or one worker.
   */
  merge(from: Value, workers: readonly Value[]): Value
  mapCounters?(value: Value, name: string, change: CounterMapper): Value
}

export interface Field<Value, Shown = Value> extends HiddenField<Value> {
  show(value: Value, context: StatusContext): Shown
  readonly decode: Decoder<Shown>
}

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

/** Without `merge`, the value of `from` stays. */
export const hidden = <Value>(merge: HiddenField<Value>['merge'] = keep): HiddenField<Value> => ({ merge })

export const known = <T>(merge: (workers: readonly T[], from: T) => T | null): HiddenField<T | null> =>
  hidden((from, workers) => {
    const counted = workers.filter((one) => one !== null)
    return from && merge(counted, from)
  })

/** Without `merge`, the value of `from` stays. */
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

export const time: Field<number, string> = shownAs(asText, formatTime)

export const optionalTime = shownAs<number | null, string | null>(asNullable(asText), formatOptionalTime)

export const total: Field<number> = { ...number, merge: (_, workers) => sum(workers) }

/** The counts of an ended worker stay. */
export const count: Field<number> = { ...total, mapCounters: (count, name, change) => change(name, count) }

export const counts = <T extends object>(zero: T): { readonly [K in keyof T]: Field<number> } =>
  mapMembers(zero, () => count)

export const highestTenths: Field<number> = shownAs(asNumber, roundToTenths, (_, workers) => Math.max(...workers))

/** Null: a gateway of an earlier version has no such member. */
export const orMissing = <Value, S>(field: Field<Value, S>): Field<Value, S | null> => ({
  ...field,
  decode: asNullable(field.decode),
})

export const derived = <Whole, S>(
  decode: Decoder<S>,
  derive: (whole: Whole, context: StatusContext) => S,
): DerivedField<S> => ({ decode, derive: derive as DerivedField<S>['derive'] })

export const fromReport = <Name extends string, Value, S>(name: Name, { decode, show }: Field<Value, S>) =>
  derived(decode, ({ report }: { readonly report: Readonly<Record<Name, Value>> }, context) =>
    show(report[name], context),
  )

export const derivedAll = <Whole, D extends Readonly<Record<string, Decoder<unknown>>>>(
  decoders: D,
  derive: (whole: Whole, context: StatusContext) => { readonly [K in keyof D]: Decoded<D[K]> },
) =>
  mapMembers(decoders, (decode, name) => derived(decode, (whole: Whole, context) => derive(whole, context)[name])) as {
    readonly [K in keyof D]: DerivedField<Decoded<D[K]>>
  }

export const record = <M extends Members>(members: M): Field<ReportedMembers<M>, ShownMembers<M>> => {
  type Values = Readonly<Record<string, unknown>>
  const reported = membersWith<HiddenField<unknown>>(members, 'merge')
  const counted = membersWith<Required<HiddenField<unknown>>>(members, 'mapCounters')
  const shown = membersWith<Field<unknown> | DerivedField<unknown>>(members, 'decode')
  const whole: Field<Values> = {
    merge: (from, workers) => {
      const ofWorkers = (name: string) => workers.map((worker) => worker[name])
      return { ...from, ...mapMembers(reported, ({ merge }, name) => merge(from[name], ofWorkers(name))) }
    },
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

export const recordBeside = <Inputs, S>(
  own: Readonly<Record<string, DerivedField<unknown>>>,
  more: readonly (Beside<string> & { readonly key: string; readonly field: DerivedField<unknown> })[],
): Field<Inputs, S> => {
  const members = insertBeside<string, readonly [string, DerivedField<unknown>]>(
    mapMembers(own, (each, key) => [key, each] as const),
    more.map((each) => ({ ...each, value: [each.key, each.field] as const })),
  )
  return record(Object.fromEntries(members)) as Field<unknown, unknown> as Field<Inputs, S>
}

const membersWith = <Member>(members: Members, part: string) =>
  Object.fromEntries(Object.entries(members).filter(([, member]) => part in member)) as Readonly<Record<string, Member>>

const mapMembers = <T extends object, R>(members: T, map: (member: T[keyof T], name: keyof T & string) => R) =>
  Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, map(member, name as keyof T & string)]),
  ) as {
    [K in keyof T]: R
  }

/** Null: the configuration does not ask for it, or the process does not know it. */
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

/** Named entries. An entry that some workers lack belongs to a reload in progress, and is left out. */
export const listOf = <Key extends string, Value extends { readonly [K in Key]: string }, S>(
  key: Key,
  entry: Field<Value, S>,
): Field<readonly Value[], readonly S[]> => {
  /** By name and number: a group may list a URL twice. */
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

export const mapOf = <Key extends string, Value extends { readonly [K in Key]: string }, S>(
  key: Key,
  entry: Field<Value, S>,
): Field<readonly Value[], Readonly<Record<string, S>>> => ({
  ...listOf(key, entry),
  show: (all, context) => Object.fromEntries(all.map((one) => [one[key], entry.show(one, context)])),
  decode: asMap(entry.decode),
})

interface WorkerState {
  readonly since: number
  /** `in 1 of 2 workers`. Null: in all. */
  readonly where: string | null
}

/** The state of the worker that has been bad for longest, if any is bad. Sums cover all workers. */
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

export const workerShareText = (count: number, all: number): string | null =>
  count === all ? null : `in ${count} of ${all} workers`
