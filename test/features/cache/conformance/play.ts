import { parseList, Token } from 'structured-headers'
import { getFirstFieldValue } from '../../../../src/core/exchange/header-fields.ts'
import { type Clock, Origin, spell, spellFields } from './origin.ts'
import type { Expectation, ExpectedValue, Row, Step } from './script.ts'

/** A request as a client sends it. */
export interface ClientRequest {
  readonly client: string | null
  readonly operation: NonNullable<Step['operation']> | 'market.insights'
  /** With its `?`. */
  readonly query: string
  readonly fields: readonly string[]
  readonly body: string | null
}

/** The response that the client gets. */
export interface ClientResponse {
  readonly status: number
  readonly fields: readonly string[]
  readonly body: string
}

/** A cache before the upstream of one row. */
export interface Session {
  send(request: ClientRequest): Promise<ClientResponse>
  /** Waits for background work, if only for a moment. */
  settle(): Promise<void>
}

/** The cache that rows are played on. */
export interface Bench {
  readonly clock: Clock
  open(row: Row, origin: Origin): Session
}

const t0 = Date.UTC(2026, 0, 1)
const query = 'row'

/** Plays a row, and lists its faults; empty: the cache meets the requirement. */
export const play = async (row: Row, { clock, open }: Bench): Promise<string[]> => {
  clock.set(t0)
  const origin = new Origin(clock, { t0, query })
  const session = open(row, origin)
  const faults: string[] = []
  for (const [i, step] of row.steps.entries()) {
    if (step.at !== undefined) clock.set(t0 + step.at * 1000)
    if (step.reply !== undefined) origin.setReply(step.reply)
    const found = await take(step, { session, origin, clock })
    faults.push(...found.map((fault) => `request ${i + 1}: ${fault}`))
  }
  return faults
}

interface Scene {
  readonly session: Session
  readonly origin: Origin
  readonly clock: Clock
}

const take = async (step: Step, scene: Scene): Promise<string[]> => {
  const { session, origin, clock } = scene
  const before = origin.requests.length
  const moment = { t0, query, now: clock.now() }
  const got = await session.send({
    client: step.client ?? null,
    operation: step.operation ?? 'market.insights',
    query: `?${query}${step.query === undefined ? '' : `&${step.query}`}`,
    fields: spellFields(step.fields ?? [], moment),
    body: step.body ?? null,
  })
  const asked = origin.requests.length - before
  await session.settle()
  return faultsOf(step.expect, got, { ...scene, asked, behind: origin.requests.length - before - asked })
}

interface Observation extends Scene {
  /** The upstream requests before the client had its response, and after. */
  readonly asked: number
  readonly behind: number
}

const faultsOf = (expect: Expectation, got: ClientResponse, seen: Observation): string[] => {
  if (expect.either !== undefined) {
    const all = expect.either.map((each) => faultsOf(each, got, seen))
    return all.some((faults) => faults.length === 0) ? [] : [all.map((faults) => faults.join(', ')).join('; nor: ')]
  }
  const faults: string[] = []
  const { origin, asked, behind } = seen
  const statuses = [expect.status ?? got.status].flat()
  if (!statuses.includes(got.status)) faults.push(`status ${got.status}, not ${statuses.join(' or ')}`)
  // A background request may be sent so soon that it cannot be told from one before.
  const whole = asked + behind
  if (expect.background === true ? whole !== 1 : expect.asked !== undefined && expect.asked !== asked > 0)
    faults.push(
      expect.background ? `asked ${whole} times` : asked > 0 ? 'the upstream was asked' : 'the upstream was not asked',
    )
  const wanted = expectedBody(expect, origin)
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

const expectedBody = ({ body }: Expectation, { bodies }: Origin): string | null => {
  if (body === undefined) return null
  if (typeof body === 'object') return body.text
  return (body === 'latest' ? bodies.at(-1) : bodies[body - 1]) ?? null
}

/** Joins a field's values as RFC 9110 §5.3 says; null: there is none. */
const joined = (fields: readonly string[], lower: string): string | null => {
  if (getFirstFieldValue(fields, lower) === undefined) return null
  return fields.filter((_, i) => i % 2 === 1 && fields[i - 1]?.toLowerCase() === lower).join(', ')
}

const faultsOfFields = (
  what: string,
  fields: readonly string[],
  wanted: Readonly<Record<string, ExpectedValue>>,
  { clock }: Scene,
): string[] =>
  Object.entries(wanted).flatMap(([name, want]) => {
    const value = joined(fields, name)
    const spelt = typeof want === 'string' ? spell(want, { t0, query, now: clock.now() }) : want
    return isAsWanted(value, spelt) ? [] : [`${what}${name} is ${JSON.stringify(value)}, not ${render(spelt)}`]
  })

const isAsWanted = (value: string | null, want: ExpectedValue): boolean => {
  if (want === null || value === null) return want === value
  if (typeof want === 'string') return value === want
  if (want instanceof RegExp) return want.test(value)
  if (!/^\d+$/.test(value)) return false
  if (typeof want === 'number') return Number(value) === want
  return 'min' in want ? Number(value) >= want.min : Number(value) <= want.max
}

const render = (want: unknown): string => (want instanceof RegExp ? String(want) : JSON.stringify(want))

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
      if (!right) faults.push(`Cache-Status ${text}: ${key} is not ${render(want)}`)
    }
    return faults
  } catch (error) {
    return [`Cache-Status ${text} is no list: ${error}`]
  }
}
