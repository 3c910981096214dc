import { list, nullable, number, shape, text } from './shape.ts'

/** Is a request that the gateway answered with an error of its own. */
export interface RefusalStatus {
  readonly at: string
  readonly requestId: string
  readonly client: string
  readonly clientId: string | null
  readonly method: string | null
  readonly operation: string | null
  readonly endpoint: string | null
  readonly status: number
  readonly kind: string
  readonly reason: string
  readonly traceId: string | null
}

/** Reads them, the newest first. */
export const refusals = list(
  shape<RefusalStatus>({
    at: text,
    requestId: text,
    client: text,
    clientId: nullable(text),
    method: nullable(text),
    operation: nullable(text),
    endpoint: nullable(text),
    status: number,
    kind: text,
    reason: text,
    traceId: nullable(text),
  }),
)

/** Reads what `GET /refused` answers. */
export const refused = shape<Refused>({ refusals, total: nullable(number) })

/** Is what a gateway remembers of what it refused. */
export interface Refused {
  readonly refusals: readonly RefusalStatus[]
  /** How many there were since its start; null: an older gateway does not say. */
  readonly total: number | null
}
