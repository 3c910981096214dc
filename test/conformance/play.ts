import { parseList, Token } from 'structured-headers'
import { getFirstFieldValue } from '../../src/header-fields.ts'
import { spell, spellFields } from './dates.ts'
import { type Clock, Origin } from './origin.ts'
import type { BenchName, Expectation, Row, Step, Wanted } from './row.ts'

/** Is a request as a client sends it. */
export interface Asked {
  readonly client: string | null
  readonly operation: NonNullable<Step['operation']> | 'market.insights'
  /** With its `?`. */
  readonly query: string
  readonly fields: readonly string[]
  readonly body: string | null
}

/** Is what comes back. */
export interface Got {
  readonly status: number
  readonly fields: readonly string[]
  readonly body: string
}

/** Is a cache before the upstream of one row. */
export interface Session {
  ask(request: Asked): Promise<Got>
  /** Waits for what goes on behind the client's back, if only for a moment. */
  settle(): Promise<void>
}

/** Plays rows on one kind of cache. */
export interface Bench {
  readonly name: BenchName
  readonly clock: Clock
  /** Whether what happens behind a client's back may end later than anybody can see: what comes after is asked again until it is so. */
  readonly eventual: boolean
  open(row: Row, origin: Origin): Promise<Session>
}

// Much more than a background fetch takes on loopback.
const patience = 300

/** How many rows have been played on a bench. */
const played = new WeakMap<Bench, number>()

/** Plays a row, and lists what is not as it has to be; empty: the cache keeps the requirement. */
export const play = async (row: Row, bench: Bench): Promise<string[]> => {
  // Rows that share a cache are a month apart, and ask for different things.
  const nth = (played.get(bench) ?? 0) + 1
  played.set(bench, nth)
  const t0 = Date.UTC(2026, 0, 1) + nth * 30 * 86_400_000
  const query = `row=${nth}`
  bench.clock.set(t0)
  const origin = new Origin(bench.clock, { t0, query })
  const session = await bench.open(row, origin)
  const faults: string[] = []
  let inDoubt = false
  for (const [i, step] of row.steps.entries()) {
    if (step.at !== undefined) bench.clock.set(t0 + step.at * 1000)
    if (step.reply !== undefined) origin.says(step.reply)
    let found = await take(step, { session, origin, clock: bench.clock, t0, query })
    for (let n = 0; inDoubt && found.length > 0 && n < patience; n++)
      found = await take(step, { session, origin, clock: bench.clock, t0, query })
    inDoubt = bench.eventual && step.expect.background === true
    faults.push(...found.map((fault) => `request ${i + 1}: ${fault}`))
  }
  return faults
}

interface Scene {
  readonly session: Session
  readonly origin: Origin
  readonly clock: Clock
  readonly t0: number
  readonly query: string
}

const take = async (step: Step, scene: Scene): Promise<string[]> => {
  const { session, origin, clock, t0, query } = scene
  const before = origin.requests.length
  const moment = { t0, query, now: clock.now() }
  const got = await session.ask({
    client: step.client ?? null,
    operation: step.operation ?? 'market.insights',
    query: `?${query}${step.query === undefined ? '' : `&${step.query}`}`,
    fields: spellFields(step.fields ?? [], moment),
    body: step.body ?? null,
  })
  const asked = origin.requests.length - before
  if (step.expect.background === true) await waitFor(session, () => origin.requests.length > before)
  await session.settle()
  return faultsOf(step.expect, got, { ...scene, asked, behind: origin.requests.length - before - asked })
}

const waitFor = async (session: Session, done: () => boolean): Promise<void> => {
  for (let n = 0; n < patience && !done(); n++) await session.settle()
}

interface Seen extends Scene {
  /** How often the upstream was asked before there was an answer, and after. */
  readonly asked: number
  readonly behind: number
}

const faultsOf = (expect: Expectation, got: Got, seen: Seen): string[] => {
  if (expect.either !== undefined) {
    const all = expect.either.map((each) => faultsOf(each, got, seen))
    return all.some((faults) => faults.length === 0) ? [] : [all.map((faults) => faults.join(', ')).join('; nor: ')]
  }
  const faults: string[] = []
  const { origin, asked, behind } = seen
  const statuses = [expect.status ?? got.status].flat()
  if (!statuses.includes(got.status)) faults.push(`status ${got.status}, not ${statuses.join(' or ')}`)
  // Behind a client's back the upstream may be asked so soon that nobody can tell it from before.
  const whole = asked + behind
  if (expect.background === true ? whole !== 1 : expect.asked !== undefined && expect.asked !== asked > 0)
    faults.push(
      expect.background ? `asked ${whole} times` : asked > 0 ? 'the upstream was asked' : 'the upstream was not asked',
    )
  const wanted = bodyOf(expect, origin)
  if (wanted !== null && got.body !== wanted)
    faults.push(`body ${JSON.stringify(got.body)}, not ${JSON.stringify(wanted)}`)
  faults.push(...faultsOfFields('', got.fields, expect.fields ?? {}, seen))
  if (expect.sent !== undefined) {
    const sent = origin.requests.at(-1)
    if (sent === undefined || whole === 0) faults.push('nothing was sent')
    else faults.push(...faultsOfFields('sent: ', sent, expect.sent, seen))
  }
  return [...faults, ...faultsOfCacheStatus(expect.cacheStatus ?? {}, got.fields)]
}

const bodyOf = ({ body }: Expectation, { bodies }: Origin): string | null => {
  if (body === undefined) return null
  if (typeof body === 'object') return body.text
  return (body === 'latest' ? bodies.at(-1) : bodies[body - 1]) ?? null
}

/** Joins a field's values as RFC 9110 §5.3 says; null: there is none. */
export const joined = (fields: readonly string[], lower: string): string | null => {
  if (getFirstFieldValue(fields, lower) === undefined) return null
  return fields.filter((_, i) => i % 2 === 1 && fields[i - 1]?.toLowerCase() === lower).join(', ')
}

const faultsOfFields = (
  what: string,
  fields: readonly string[],
  wanted: Readonly<Record<string, Wanted>>,
  { t0, query, clock }: Scene,
): string[] =>
  Object.entries(wanted).flatMap(([name, want]) => {
    const value = joined(fields, name)
    const spelt = typeof want === 'string' ? spell(want, { t0, query, now: clock.now() }) : want
    return isAsWanted(value, spelt) ? [] : [`${what}${name} is ${JSON.stringify(value)}, not ${shown(spelt)}`]
  })

const isAsWanted = (value: string | null, want: Wanted): boolean => {
  if (want === null || value === null) return want === value
  if (typeof want === 'string') return value === want
  if (want instanceof RegExp) return want.test(value)
  if (!/^\d+$/.test(value)) return false
  if (typeof want === 'number') return Number(value) === want
  return 'least' in want ? Number(value) >= want.least : Number(value) <= want.most
}

const shown = (want: unknown): string => (want instanceof RegExp ? String(want) : JSON.stringify(want))

const faultsOfCacheStatus = (wanted: NonNullable<Expectation['cacheStatus']>, fields: readonly string[]): string[] => {
  if (Object.keys(wanted).length === 0) return []
  const text = joined(fields, 'cache-status')
  if (text === null) return ['there is no Cache-Status']
  try {
    const [name, parameters] = parseList(text).at(-1) ?? []
    const faults = name instanceof Token || typeof name === 'string' ? [] : [`${text} names no cache`]
    for (const [key, want] of Object.entries(wanted)) {
      const raw = (parameters as Map<string, unknown>).get(key) ?? null
      const value = raw instanceof Token ? raw.toString() : raw
      const right =
        typeof want === 'object' && want !== null
          ? typeof value === 'number' && Math.abs(value - want.near) <= 1
          : value === want
      if (!right) faults.push(`Cache-Status ${text}: ${key} is not ${shown(want)}`)
    }
    return faults
  } catch (error) {
    return [`Cache-Status ${text} is no list: ${error}`]
  }
}
