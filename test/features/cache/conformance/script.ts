/** The functions that rows are written with. */
import type { CacheSettings, Expectation, Level, Reply, Rfc, Row, ScriptFields, Step, Trouble } from './row.ts'

type Options = Pick<Row, 'cache' | 'notOn' | 'knownFailing'>
type Add = (section: string, says: string, steps: readonly Step[], options?: Options) => void

/** The collector of one specification's rows, by level. */
export interface Requirements {
  readonly rows: readonly Row[]
  readonly must: Add
  readonly mustNot: Add
  readonly should: Add
  readonly shouldNot: Add
  readonly may: Add
}

/** Collects the rows of one specification. */
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

/** A response with status 200, this Cache-Control, and further fields. */
export const cc = (value: string, ...fields: ScriptFields): Reply => ({ fields: ['Cache-Control', value, ...fields] })

/** A response with status 200 and these fields. */
export const ok = (...fields: ScriptFields): Reply => ({ fields })

/** A response with another status. */
export const status = (code: number, ...fields: ScriptFields): Reply => ({ status: code, fields })

/** The same, from an origin that answers its conditional requests with 304. */
export const validating = (reply: Reply): Reply => ({ ...reply, validates: true })

/** The upstream gets the request, and the client its response. */
export const forwarded: Expectation = { asked: true, body: 'latest' }

/** The upstream gets no request: the client gets the first response. */
export const reused: Expectation = { asked: false, body: 1 }

/** The upstream gets the request, and confirms its first response. */
export const confirmed: Expectation = { asked: true, status: 200, body: 1 }

/** The cache itself tells the client that its copy is current. */
export const notModified: Expectation = { asked: false, status: 304, body: { text: '' } }

/** One of several is enough, where a specification leaves the choice. */
export const either = (...either: readonly Expectation[]): Expectation => ({ either })

/** One expectation with more to it. */
export const and = (...parts: readonly Expectation[]): Expectation =>
  Object.assign({}, ...parts, {
    ...mergeMember('fields', parts),
    ...mergeMember('sent', parts),
    ...mergeMember('cacheStatus', parts),
  })

const mergeMember = (key: 'fields' | 'sent' | 'cacheStatus', parts: readonly Expectation[]): object => {
  const given = parts.map((part) => part[key]).filter((each) => each !== undefined)
  return given.length === 0 ? {} : { [key]: Object.assign({}, ...given) }
}

type More = Omit<Step, 'expect' | 'reply'>

/** A request to which the upstream responds with `reply`. */
export const get = (reply: Reply | Trouble, expect: Expectation = forwarded, more: More = {}): Step => ({
  reply,
  expect,
  ...more,
})

/** A request, while the upstream responds as before. */
export const again = (expect: Expectation, more: More = {}): Step => ({ expect, ...more })

/** A second request is served from what was stored of the first. */
export const stores = (reply: Reply, more: More = {}): readonly Step[] => [get(reply), again(reused, more)]

/** A second request reaches the upstream. */
export const storesNot = (reply: Reply, more: More = {}): readonly Step[] => [get(reply), again(forwarded, more)]

/** The response is fresh until just before `seconds`, and not after. */
export const freshFor = (reply: Reply, seconds: number): readonly Step[] => [
  get(reply),
  again(reused, { at: seconds - 1 }),
  again(forwarded, { at: seconds }),
]

/** With these fields in the request. */
export const asking = (...fields: ScriptFields): More => ({ fields })

/** With this configuration of the operation's cache. */
export const cache = (settings: CacheSettings): Options => ({ cache: settings })

/** Where only the wire can show it: fields and framing that the gateway handles outside the cache. */
export const onlyTheWire: Options = {
  notOn: { policy: 'it is taken out before the cache', layer: 'it is taken out before the cache' },
}
