/**
 * One row of the suite: a requirement of a specification, and a script that shows whether a cache meets it. Rows are
 * data: a bench (the pure policy, the layer, real sockets) plays the script, and {@link file://./play.ts} compares.
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
  /** Trailer fields after a chunked body. */
  readonly trailers?: ScriptFields
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

/** The value of `operations.<id>.cache`, as a configuration file writes it. */
export type CacheSettings = true | Readonly<Record<string, unknown>>

/** The benches that play rows. */
export type BenchName = 'policy' | 'layer' | 'sockets'

export interface Row {
  readonly rfc: Rfc
  readonly section: string
  readonly level: Level
  /** The requirement, in one sentence. */
  readonly says: string
  readonly steps: readonly Step[]
  readonly cache?: CacheSettings
  /** The reason why a bench does not play the row. */
  readonly notOn?: { readonly [bench in BenchName]?: string }
  /** The gateway's defect for which the row is red. */
  readonly knownFailing?: string
}

/** Returns the name of a row in the report. */
export const getRowName = ({ rfc, section, level, says }: Row): string =>
  `${typeof rfc === 'number' ? `RFC ${rfc}` : rfc} §${section} ${level}: ${says}`
