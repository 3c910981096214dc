import { GatewayError } from '../errors.ts'

/** Says in a few words, for operators, why an endpoint could not be reached. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof GatewayError) {
    const { cause, kind } = error
    return cause instanceof Error ? reasonOf(cause) : (kinds[kind] ?? kind)
  }
  const [first] = error instanceof AggregateError ? error.errors : []
  if (first !== undefined) return reasonOf(first)
  const { code } = error as NodeJS.ErrnoException
  return (code === undefined ? undefined : codes[code]) ?? error.message
}

const kinds: Readonly<Record<string, string>> = { 'connect-timeout': 'no connection in time' }

const codes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  UPSTREAM_RESET: 'connection reset',
  UND_ERR_SOCKET: 'connection closed',
  EHOSTUNREACH: 'no route to it',
  ENETUNREACH: 'no route to it',
  ETIMEDOUT: 'no connection in time',
  ENOTFOUND: 'the name does not resolve',
  EAI_AGAIN: 'the name server does not answer',
}
