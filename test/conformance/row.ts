/**
 * What one row of the suite is: a requirement of a specification and a script that shows whether a cache keeps it. Rows are data: a bench
 * (the pure policy, the layer, real sockets) plays the script, and {@link file://./play.ts} compares.
 */

/** Says how much a specification asks (BCP 14). A row that nobody asks for shows what a cache is for: without it one that stores nothing would pass. */
export type Level = 'MUST' | 'MUST NOT' | 'SHOULD' | 'SHOULD NOT' | 'MAY'

/** Names a specification; `own` is what docs/caching.md promises beyond them. */
export type Rfc = 9110 | 9111 | 5861 | 9211 | 'own'

/**
 * Is a flat list of fields as a script writes them. In a value `@t0` is the HTTP-date of the row's begin and `@now` that of the moment,
 * with `+N` or `-N` seconds, and `:850` or `:asctime` for the two old forms; `@row` is the query that belongs to the row alone.
 */
export type Written = readonly string[]

/** Is an answer of the upstream. Each has a body of its own, so that a client's body tells which answer it came from. */
export interface Reply {
  /** 200 unless. */
  readonly status?: number
  /** A Date of the moment is added unless one is written here, or `date` is false. */
  readonly fields?: Written
  readonly date?: false
  /** `answer N` unless, N counting the requests of the row that reached the upstream. */
  readonly body?: string
  /** Seconds that pass between the request's arrival and the answer. */
  readonly takes?: number
  /** Answers 304 when the request's If-None-Match names this ETag, or its If-Modified-Since this Last-Modified, as an origin does. */
  readonly validates?: true
  /** Trailer fields after a chunked body. */
  readonly trailers?: Written
}

/** Is what else may become of a request: nobody listens, the connection ends before the head, or in the middle of the body. */
export type Trouble = 'refused' | 'reset' | 'truncated'

/** Is one request of a client, and what has to come of it. */
export interface Step {
  /** Seconds since the row began; those of the step before unless. */
  readonly at?: number
  /** Which known client asks; nobody is known unless a step of the row says so. */
  readonly client?: string
  /** GET /market/insights unless. */
  readonly operation?: 'analysis.esg-grant' | 'inventory.sync' | 'leads.pipeline'
  /** Is added to the row's own query. */
  readonly query?: string
  readonly fields?: Written
  readonly body?: string
  /** What the upstream answers from now on. */
  readonly reply?: Reply | Trouble
  readonly expect: Expectation
}

/** Compares a field's values, joined by a comma: the same text, a pattern, `null` for none, or a word of {@link file://./fields.ts}. */
export type Wanted = string | RegExp | null | number | { readonly least: number } | { readonly most: number }

/** Is what has to come of a request. What is not named may be anything. */
export interface Expectation {
  readonly status?: number | readonly number[]
  /** One of these is enough. */
  readonly either?: readonly Expectation[]
  /** Whether the upstream is asked before there is an answer. */
  readonly asked?: boolean
  /** That the upstream is asked behind the client's back, once. */
  readonly background?: true
  /** The number of the upstream's answer whose body comes, or the text itself; `latest`: the one that was just given. */
  readonly body?: number | 'latest' | { readonly text: string }
  /** Fields of the answer, by their names in lower case. */
  readonly fields?: Readonly<Record<string, Wanted>>
  /** Fields of the request that reached the upstream. */
  readonly sent?: Readonly<Record<string, Wanted>>
  /** Parameters of the last member of Cache-Status; `null`: it has none of that name. */
  readonly cacheStatus?: Readonly<Record<string, string | number | boolean | null | { readonly near: number }>>
}

/** Is `operations.<id>.cache`, as a configuration file writes it. */
export type CacheSettings = true | Readonly<Record<string, unknown>>

/** Names what rows are played on. */
export type BenchName = 'policy' | 'layer' | 'sockets'

export interface Row {
  readonly rfc: Rfc
  readonly section: string
  readonly level: Level
  /** The requirement, in one sentence. */
  readonly says: string
  readonly steps: readonly Step[]
  readonly cache?: CacheSettings
  /** Why it is not played there. */
  readonly notOn?: { readonly [bench in BenchName]?: string }
  /** What is wrong with the gateway that the row is red for. */
  readonly knownFailing?: string
}

/** Names a row in the report. */
export const nameOf = ({ rfc, section, level, says }: Row): string =>
  `${typeof rfc === 'number' ? `RFC ${rfc}` : rfc} §${section} ${level}: ${says}`
