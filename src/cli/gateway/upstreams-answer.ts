import { flag, list, nullable, number, shape, text } from './shape.ts'
import { type ShownCertificate, shownCertificate } from './shown-certificate.ts'

/** Is what stands behind a group. */
export interface UpstreamStatus {
  readonly endpoints: readonly EndpointStatus[]
  readonly breaker: BreakerStatus | null
  readonly retryBudget: { readonly left: number } | null
}

/** Is the circuit breaker of a group. */
interface BreakerStatus {
  readonly state: string
  readonly since: string
  readonly where: string | null
  /** What the upstream failed last; null: it is closed, or an older gateway does not say. */
  readonly reason: string | null
}

/** Is one endpoint of a group. */
export interface EndpointStatus {
  readonly url: string
  readonly weight: number
  readonly sandbox: boolean
  readonly inFlight: number
  readonly state: string
  readonly since: string | null
  readonly reason: string | null
  readonly lastProbe: { readonly ok: boolean; readonly reason: string | null } | null
  readonly requests: number
  readonly failures: number
  readonly ejectedForSeconds: number | null
  /** Null: it has shown none, or the gateway is older than that. */
  readonly certificate: ShownCertificate | null
  readonly drainUntil: string | null
  readonly readyUntil: string | null
}

const endpoint = shape<EndpointStatus>({
  url: text,
  weight: number,
  sandbox: flag,
  inFlight: number,
  state: text,
  since: nullable(text),
  reason: nullable(text),
  lastProbe: nullable(shape<{ ok: boolean; reason: string | null }>({ ok: flag, reason: nullable(text) })),
  requests: number,
  failures: number,
  ejectedForSeconds: nullable(number),
  certificate: nullable(shownCertificate),
  drainUntil: nullable(text),
  readyUntil: nullable(text),
})

/** Reads it. */
export const upstream = shape<UpstreamStatus>({
  endpoints: list(endpoint),
  breaker: nullable(shape<BreakerStatus>({ state: text, since: text, where: nullable(text), reason: nullable(text) })),
  retryBudget: nullable(shape<{ left: number }>({ left: number })),
})
