import type { FailedAttempt, GatewayError } from '../errors.ts'

/** Says in one line what the libraries said; the whole stack only where the gateway itself is at fault. */
export const causeOf = ({ kind, cause }: GatewayError): string | undefined => {
  if (cause === undefined) return undefined
  if (!(cause instanceof Error)) return String(cause)
  if (kind === 'internal') return cause.stack
  const inner = cause instanceof AggregateError ? cause.errors.map(message).join('; ') : ''
  return inner === '' ? message(cause) : inner
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Lists the fields by which a line of the log tells of a failed attempt: as an access line tells of its exchange. */
export const attemptFields = ({ endpoint, why }: FailedAttempt) =>
  typeof why === 'number'
    ? { endpoint, status: why }
    : { endpoint, failure: why.kind, reason: why.reason ?? undefined, cause: causeOf(why) }
