import type { Problem } from '../../config/problem.ts'
import { type CacheStatus, cache } from './cache-answer.ts'
import { type Finding, findings } from './findings-answer.ts'
import { type LimitsStatus, limits } from './limits-answer.ts'
import { anything, flag, list, Misread, map, nullable, number, type Read, shape, text } from './shape.ts'
import { type Target, urlOf } from './target.ts'
import { type TokensStatus, tokens } from './tokens-answer.ts'
import { unasked } from './unasked.ts'
import { type UpstreamStatus, upstream } from './upstreams-answer.ts'

/** Is what `GET /status` tells, as far as it is shown. */
export interface Status {
  readonly version: string
  readonly state: string
  readonly ready: boolean
  readonly notReady: string | null // also when the gateway is older than this member
  /** What is wrong, the worst first; null: the gateway is older than that. */
  readonly findings: readonly Finding[] | null
  readonly uptimeSeconds: number
  readonly node: string
  readonly pid: number
  readonly config: {
    readonly file: string
    readonly path: string | null // the gateway is older than this member
    readonly hash: string
    readonly loadedAt: string
    readonly loadedBy: string
    readonly fileDiffers: boolean
    readonly lastRefusal: { readonly at: string; readonly problems: readonly Problem[] } | null
    /** When an edit that brings what was not reached is tried again. */
    readonly nextTry: string | null
    readonly previous: string | null
  }
  /** What the gateway shows to whoever connects; null: it is older than this list. */
  readonly certificates: readonly CertificateStatus[] | null
  /** The processes that serve, when there are several; null: the gateway is older than they are. */
  readonly workers: readonly WorkerStatus[] | null
  readonly upstreams: Readonly<Record<string, UpstreamStatus>>
  /** Null: the gateway is older than they are. */
  readonly limits: LimitsStatus | null
  /** Null: the gateway is older than they are. */
  readonly tokens: TokensStatus | null
  /** Null: no operation is cached, or the gateway is older than that. */
  readonly cache: CacheStatus | null
  readonly operations: Readonly<Record<string, { readonly state: string; readonly until: string | null }>>
  readonly retiring: number
  /** Where the audit log stands; null: there is none, or the gateway is older than it is. */
  readonly audit: AuditStatus | null
  readonly log: { readonly dropped: number }
  readonly warnings: readonly Problem[]
}

/** Is a certificate that the gateway shows. */
export interface CertificateStatus {
  readonly key: string
  readonly names: readonly string[]
  readonly notAfter: string
  /** Below 0: it has expired. */
  readonly daysLeft: number
}

/** Is an audit log. */
export interface AuditStatus {
  readonly file: string
  readonly count: number
  readonly since: string
  /** Why nothing can be written; null: it can. */
  readonly reason: string | null
  readonly lost: number
}

/** Is one of several processes that serve. What is not known of it is null. */
export interface WorkerStatus {
  readonly worker: number
  readonly pid: number | null
  readonly state: string
  readonly startedAt: string | null
  readonly restarts: number
  readonly inFlight: number | null
  readonly config: string | null
}

/** Is one value that differs between two configurations, as a gateway of any version tells it. */
export interface ToldChange {
  readonly part: string
  readonly group: string | null
  readonly path: string
  readonly from: unknown
  readonly to: unknown
}

/** Is what came of a reload or a rollback that was not refused. */
export interface Outcome {
  readonly result: string
  readonly from: string
  readonly to: string
  readonly changes: readonly ToldChange[]
  readonly warnings: readonly Problem[]
}

/** Is what came of one that was. */
export interface Refused {
  /** The hash of what runs on. */
  readonly hash: string
  readonly problems: readonly Problem[]
  /** When it is tried again; null: it is not. */
  readonly nextTry: string | null
}

const problem: Read<Problem> = (value, path) => {
  const { hint, ...told } = read(value, path)
  return hint === null ? told : { ...told, hint }
}

const read = shape<Omit<Problem, 'hint'> & { readonly hint: string | null }>({
  file: text,
  line: number,
  column: number,
  path: text,
  expected: text,
  found: text,
  message: text,
  hint: nullable(text),
})

const worker = shape<WorkerStatus>({
  worker: number,
  pid: nullable(number),
  state: text,
  startedAt: nullable(text),
  restarts: number,
  inFlight: nullable(number),
  config: nullable(text),
})

/** Reads what `GET /status` answers. */
export const status = shape<Status>({
  version: text,
  state: text,
  ready: flag,
  notReady: nullable(text),
  findings: nullable(findings),
  uptimeSeconds: number,
  node: text,
  pid: number,
  config: shape<Status['config']>({
    file: text,
    path: nullable(text),
    hash: text,
    loadedAt: text,
    loadedBy: text,
    fileDiffers: flag,
    lastRefusal: nullable(shape<{ at: string; problems: readonly Problem[] }>({ at: text, problems: list(problem) })),
    nextTry: nullable(text),
    previous: nullable(text),
  }),
  certificates: nullable(
    list(shape<CertificateStatus>({ key: text, names: list(text), notAfter: text, daysLeft: number })),
  ),
  workers: nullable(list(worker)),
  upstreams: map(upstream),
  limits: nullable(limits),
  tokens: nullable(tokens),
  cache: nullable(cache),
  operations: map(shape<{ state: string; until: string | null }>({ state: text, until: nullable(text) })),
  retiring: number,
  audit: nullable(shape<AuditStatus>({ file: text, count: number, since: text, reason: nullable(text), lost: number })),
  log: shape<Status['log']>({ dropped: number }),
  warnings: list(problem),
})

/** Reads what `POST /reload` and `POST /rollback` answer when they are not refused. */
export const outcome = shape<Outcome>({
  result: text,
  from: text,
  to: text,
  changes: list(shape<ToldChange>({ part: text, group: nullable(text), path: text, from: anything, to: anything })),
  warnings: list(problem),
})

/** Reads what they answer when they are. */
export const refused = shape<Refused>({ hash: text, problems: list(problem), nextTry: nullable(text) })

/** Reads what `GET /config` answers, left as it is to be compared. */
export const running = shape<{
  hash: string
  config: Readonly<Record<string, unknown>>
  digests: Readonly<Record<string, string>>
}>({ hash: text, config: map(anything), digests: map(text) })

/** Reads an answer; what is not a gateway's is an {@link unasked} that says where it went wrong. */
export const understood = <T>(target: Target, body: unknown, read: Read<T>): T => {
  try {
    return read(body, '')
  } catch (error) {
    if (!(error instanceof Misread)) throw error
    throw unasked(
      `${urlOf(target)} answers what this version does not understand: ${error.message}; compare the versions`,
    )
  }
}
