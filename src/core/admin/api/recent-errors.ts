import { allOperations, type OperationId, type Side } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import { explainPathMismatch } from '../../config/suggest.ts'
import { failureText, lastFailurePhrase, reasonText } from '../../exchange/failures/errors.ts'
import type { FailureKind } from '../../exchange/failures/kinds.ts'
import {
  asBoolean,
  asList,
  asNullable,
  asNumber,
  asObject,
  asText,
  asWord,
  type Decoded,
} from '../../lib/text/decode.ts'
import { formatTime } from '../../lib/text/format-time.ts'
import type { RecentError } from '../../log/recent-errors.ts'
import type { StatusReport } from '../../runtime/status/report.ts'
import type { AdminContext } from '../admin-context.ts'
import { isContractFailure, maxBodyPhrase } from '../findings/failure-phrases.ts'

/** Decode a recent request. Nothing in it is what the client wrote, but for the id of the request and of its trace. */
export const recentRequestMembers = {
  at: asText,
  requestId: asText,
  /** The client's address. */
  client: asText,
  /** The id in `clients`; null: not asked for, or unknown. */
  clientId: asNullable(asText),
  /** Null: no request could be parsed. */
  method: asNullable(asText),
  /** Null: the request was for no operation. */
  operation: asNullable(asWord<OperationId>()),
  /** Null: it was sent nowhere. */
  endpoint: asNullable(asText),
  /** The side that its client is on; null: its group has no candidate in use. */
  side: asNullable(asWord<Side>()),
  /** Whether it went over to the primary, although its client is on the candidate. */
  fellBack: asBoolean,
  status: asNumber,
  traceId: asNullable(asText),
}

export const recentErrorShape = asObject({
  ...recentRequestMembers,
  kind: asWord<FailureKind>(),
  /** In words. */
  reason: asText,
})

export type RecentErrorView = Decoded<typeof recentErrorShape>

/**
 * Describes a request of no operation, as far as is known: most rejections come before a request's path is looked at.
 * Of another method on one of the nine paths, the reason names that.
 */
export const describeUnmatched = ({
  method,
  kind,
}: {
  readonly method: string | null
  readonly kind: FailureKind | null
}): string => {
  if (method === null) return 'what could not be read'
  if (kind === 'method-not-allowed') return method
  return `${method} ${kind === 'not-found' ? 'to none of the nine' : 'before it came to any of the nine'}`
}

/** Decodes the response of /refused: the recent errors alone. */
export const recentErrorsShape = asObject({
  refusals: asList(recentErrorShape),
  /** Errors since the start, from which a client that polls sees how many there were meanwhile. */
  total: asNumber,
})

type RecentErrorsResponse = Decoded<typeof recentErrorsShape>

export const getRecentErrors = async ({ report, reloader }: AdminContext): Promise<RecentErrorsResponse> => {
  const all = await report()
  return { refusals: toRecentErrorViews(all, reloader.config), total: all.recentErrors.total }
}

export const toRecentErrorViews = ({ recentErrors }: StatusReport, config: Config): RecentErrorsResponse['refusals'] =>
  recentErrors.last.map((entry) => toRecentErrorView(entry, config))

/** Renders a recent error, as far as it may be shown. */
export const toRecentErrorView = (entry: RecentError, config: Config): RecentErrorView => {
  const { at, path: _, cause: __, failedAttempt: ___, ...members } = entry
  return { at: formatTime(at), ...members, reason: describeReason(entry, config) }
}

const describeReason = (entry: RecentError, config: Config): string => {
  const { kind, reason, cause, failedAttempt, method, path } = entry
  const { listen } = config
  // Where the contract is broken, in words of the contract alone.
  if (isContractFailure(entry)) return failureText(kind, reason) + (cause === null ? '' : `: ${cause}`)
  if (reason !== null && failedAttempt !== null)
    return `${reasonText(reason)}, because ${lastFailurePhrase(failedAttempt, failedAttempt.endpoint)}`
  if (reason !== null) return reasonText(reason) + maxBodyPhrase([entry], config)
  if (path === null) return failureText(kind, null)
  if (kind === 'not-found') {
    const base = { basePath: listen.basePath, baseKey: 'listen.basePath', show: redactText }
    const { differs, meant } = explainPathMismatch(path, base)
    const near = meant === null ? '' : `; probably meant: ${meant.method} ${listen.basePath}${meant.path}`
    return differs.join('; ') + near
  }
  const known = allOperations.find((each) => listen.basePath + each.path === path)
  if (kind === 'method-not-allowed' && known !== undefined) return `${known.path} takes ${known.method}, not ${method}`
  return failureText(kind, null)
}

/** Text of a client may be a secret in the wrong place. */
const redactText = (): string => '…'
