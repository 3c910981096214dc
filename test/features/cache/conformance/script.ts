import type { CacheRules } from '../../../../src/features/cache/policy/cache-request.ts'

/**
 * Rows: each is a requirement of a specification, and a script that shows whether the cache meets it. Rows are data:
 * {@link file://./play.ts} plays them on the layer, and compares.
 */

/**
 * The level of a requirement (BCP 14). A MAY shows what a cache is for: without such rows, a cache that stores nothing
 * would pass.
 */
export type Level = 'MUST' | 'MUST NOT' | 'SHOULD' | 'SHOULD NOT' | 'MAY'

/** A specification; `own` is what docs/caching.md promises beyond them. */
export type Rfc = 9110 | 9111 | 5861 | 9211 | 'own'

/**
 * A flat list of fields as a script writes them. In a value, `@t0` is the HTTP-date of the row's start and `@now` that
 * of the moment, with `+N` or `-N` seconds, and `:850` or `:asctime` for the two old forms. `@row` is the query that
 * belongs to the row alone.
 */
export type ScriptFields = readonly string[]

/**
 * A response of the upstream. Each has a body of its own, so that a client's body shows which response it came from.
 */
export interface Reply {
  /** 200 by default. */
  readonly status?: number
  /** A Date of the moment is added unless there is one here, or `date` is false. */
  readonly fields?: ScriptFields
  readonly date?: false
  /** `answer N` by default; N counts the requests of the row that reached the upstream. */
  readonly body?: string
  /** Seconds between the arrival of the request and the response. */
  readonly takes?: number
  /**
   * Whether the upstream sends 304 when the request's If-None-Match names this ETag, or its If-Modified-Since this
   * Last-Modified, as an origin does.
   */
  readonly validates?: true
}

/** The other outcomes of a request: the connection is refused, ends before the head, or in the middle of the body. */
export type Trouble = 'refused' | 'reset' | 'truncated'

/** One request of a client, and its expected outcome. */
export interface Step {
  /** Seconds since the row began; those of the step before by default. */
  readonly at?: number
  /** The client that sends it; clients are anonymous unless a step of the row names one. */
  readonly client?: string
  /** GET /market/insights by default. */
  readonly operation?: 'analysis.esg-grant' | 'inventory.sync' | 'leads.pipeline'
  /** Added to the row's own query. */
  readonly query?: string
  readonly fields?: ScriptFields
  readonly body?: string
  /** What the upstream responds from now on. */
  readonly reply?: Reply | Trouble
  readonly expect: Expectation
}

/**
 * The expected values of a field, joined by commas: the same text, a pattern, `null` for none, a number, or a limit of
 * one.
 */
export type ExpectedValue = string | RegExp | null | number | { readonly min: number } | { readonly max: number }

/** The expected outcome of a request. A member that is absent may be anything. */
export interface Expectation {
  readonly status?: number | readonly number[]
  /** One of these is enough. */
  readonly either?: readonly Expectation[]
  /** Whether the upstream gets a request before the client has its response. */
  readonly asked?: boolean
  /** The upstream gets one request in the background. */
  readonly background?: true
  /** The number of the upstream response whose body comes, or the text itself; `latest`: the last one. */
  readonly body?: number | 'latest' | { readonly text: string }
  /** Fields of the response, by their names in lower case. */
  readonly fields?: Readonly<Record<string, ExpectedValue>>
  /** Fields of the request that reached the upstream. */
  readonly sent?: Readonly<Record<string, ExpectedValue>>
  /** Parameters of the last member of Cache-Status; `null`: it has none of that name. */
  readonly cacheStatus?: Readonly<Record<string, string | number | boolean | null | { readonly near: number }>>
}

export interface Row {
  readonly rfc: Rfc
  readonly section: string
  readonly level: Level
  /** The requirement, in one sentence. */
  readonly says: string
  readonly steps: readonly Step[]
  /** The configuration of the operation's cache, where it is not the default. */
  readonly cache?: Partial<CacheRules>
}

/** Returns the name of a row in the report. */
export const getRowName = ({ rfc, section, level, says }: Row): string =>
  `${typeof rfc === 'number' ? `RFC ${rfc}` : rfc} §${section} ${level}: ${says}`

type Options = Pick<Row, 'cache'>
type Add = (section: string, says: string, steps: readonly Step[], options?: Options) => void

/** The collector of one specification's rows, by level. */
interface Requirements {
  readonly must: Add
  readonly mustNot: Add
  readonly should: Add
  readonly shouldNot: Add
  readonly may: Add
}

/** Collects rows of one specification. */
export const requirements = (rows: Row[], rfc: Rfc, common: Options = {}): Requirements => {
  const at =
    (level: Level): Add =>
    (section, says, steps, options = {}) =>
      void rows.push({ rfc, section, level, says, steps, ...common, ...options })
  return {
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
export const cache = (settings: Partial<CacheRules>): Options => ({ cache: settings })
