/** Reads what undici's errors mean. They tell it by code, by name or by message alone. */

type UndiciError = Error & { readonly code?: unknown }

const refusals: ReadonlySet<unknown> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
])

/** Tells an invalid request, or a pool that has been closed: a defect of the gateway, and no upstream has heard of it. */
export const isRefusal = (error: UndiciError): boolean => refusals.has(error.code)

const wrongLength = 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'

/** Tells a body that has, as undici counts, another length than its head says. */
export const isWrongLength = ({ code }: UndiciError): boolean => code === wrongLength

const malformed: ReadonlySet<unknown> = new Set(['UND_ERR_HEADERS_OVERFLOW', wrongLength])

/** Tells a broken message from a broken connection. */
export const isMalformed = ({ name, code, message }: UndiciError): boolean =>
  name === 'HTTPParserError' || // in 8.12 without a code
  malformed.has(code) ||
  message === 'bad response' || // a 100 that came in pieces
  message === 'bad upgrade' // an unasked 101
