/** The words in which rows are written. */
import type { CacheSettings, Expectation, Level, Reply, Rfc, Row, Step, Trouble, Written } from './row.ts'

type Options = Pick<Row, 'cache' | 'notOn' | 'knownFailing'>
type Add = (section: string, says: string, steps: readonly Step[], options?: Options) => void

/** Is where the rows of one specification are written down, by level. */
export interface Requirements {
  readonly rows: readonly Row[]
  readonly must: Add
  readonly mustNot: Add
  readonly should: Add
  readonly shouldNot: Add
  readonly may: Add
}

/** Collects rows of one specification. */
export const requirements = (rfc: Rfc, common: Options = {}): Requirements => {
  const rows: Row[] = []
  const at =
    (level: Level): Add =>
    (section, says, steps, options = {}) =>
      void rows.push({ rfc, section, level, says, steps, ...common, ...options })
  return {
    rows,
    must: at('MUST'),
    mustNot: at('MUST NOT'),
    should: at('SHOULD'),
    shouldNot: at('SHOULD NOT'),
    may: at('MAY'),
  }
}

/** An answer 200 with this Cache-Control, and further fields. */
export const cc = (value: string, ...fields: Written): Reply => ({ fields: ['Cache-Control', value, ...fields] })

/** An answer 200 with these fields. */
export const answer = (...fields: Written): Reply => ({ fields })

/** An answer of another status. */
export const status = (code: number, ...fields: Written): Reply => ({ status: code, fields })

/** The same, from an origin that answers conditional requests for it by 304. */
export const validating = (reply: Reply): Reply => ({ ...reply, validates: true })

/** The upstream is asked, and what it says is what comes. */
export const forwarded: Expectation = { asked: true, body: 'latest' }

/** The upstream is not asked: what comes is what it said the first time. */
export const reused: Expectation = { asked: false, body: 1 }

/** The upstream is asked, and confirms its first answer. */
export const confirmed: Expectation = { asked: true, status: 200, body: 1 }

/** The cache answers by itself that the client has the right copy. */
export const notModified: Expectation = { asked: false, status: 304, body: { text: '' } }

/** One of several is enough, where a specification leaves the choice. */
export const either = (...either: readonly Expectation[]): Expectation => ({ either })

/** One expectation with more to it. */
export const and = (...parts: readonly Expectation[]): Expectation =>
  Object.assign({}, ...parts, {
    ...joinedOf('fields', parts),
    ...joinedOf('sent', parts),
    ...joinedOf('cacheStatus', parts),
  })

const joinedOf = (key: 'fields' | 'sent' | 'cacheStatus', parts: readonly Expectation[]): object => {
  const given = parts.map((part) => part[key]).filter((each) => each !== undefined)
  return given.length === 0 ? {} : { [key]: Object.assign({}, ...given) }
}

type More = Omit<Step, 'expect' | 'reply'>

/** A request that the upstream answers thus. */
export const get = (reply: Reply | Trouble, expect: Expectation = forwarded, more: More = {}): Step => ({
  reply,
  expect,
  ...more,
})

/** A request, while the upstream answers as before. */
export const again = (expect: Expectation, more: More = {}): Step => ({ expect, ...more })

/** A second request is answered from what was stored of the first. */
export const stores = (reply: Reply, more: More = {}): readonly Step[] => [get(reply), again(reused, more)]

/** A second request reaches the upstream. */
export const storesNot = (reply: Reply, more: More = {}): readonly Step[] => [get(reply), again(forwarded, more)]

/** It is fresh until just before `seconds`, and not after. */
export const freshFor = (reply: Reply, seconds: number): readonly Step[] => [
  get(reply),
  again(reused, { at: seconds - 1 }),
  again(forwarded, { at: seconds }),
]

/** With these fields in the request. */
export const asking = (...fields: Written): More => ({ fields })

/** With this configuration of the operation's cache. */
export const cache = (settings: CacheSettings): Options => ({ cache: settings })

/** Where only the wire can show it: fields and framing that end in other rooms than the cache's. */
export const onlyTheWire: Options = {
  notOn: { policy: 'it is taken out before the cache', layer: 'it is taken out before the cache' },
}
