import { allOperations, type OperationId, type Side } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import { explainPathMismatch } from '../../config/suggest.ts'
import { failureText, lastFailurePhrase, reasonText } from '../../exchange/failures/errors.ts'
import type { FailureKind } from '../../exchange/failures/failure-table.ts'
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
import type { StatusReport } from '../../runtime/status/status-part.ts'
import type { AdminContext } from '../admin-context.ts'
import { isContractFailure, maxBodyPhrase } from '../findings/failure-phrases.ts'

/** Of these members, clients write only the ids of the request and its trace. */
export const recentRequestMembers = {
  at: asText,
  requestId: asText,
  client: asText,
  /** The id in `clients`; null: no key was asked for, or it is unknown. */
  clientId: asNullable(asText),
  method: asNullable(asText),
  operation: asNullable(asWord<OperationId>()),
  endpoint: asNullable(asText),
  /** Null: the group has no candidate in use. */
  side: asNullable(asWord<Side>()),
  fellBack: asBoolean,
  status: asNumber,
  traceId: asNullable(asText),
}

export const recentErrorShape = asObject({ ...recentRequestMembers, kind: asWord<FailureKind>(), reason: asText })

export type RecentErrorView = Decoded<typeof recentErrorShape>

export const describeUnmatched = ({ method, kind }: { method: string | null; kind: FailureKind | null }): string => {
  if (method === null) return 'an unreadable request'
  if (kind === 'method-not-allowed') return method
  return `${method} ${kind === 'not-found' ? 'to none of the nine' : 'before it came to any of the nine'}`
}

export const recentErrorsShape = asObject({
  rejections: asList(recentErrorShape),
  /** Errors since the start. A client that polls sees from it how many errors it missed. */
  total: asNumber,
})

type RecentErrorsResponse = Decoded<typeof recentErrorsShape>

export const getRecentErrors = async ({ report, reloader }: AdminContext): Promise<RecentErrorsResponse> => {
  const all = await report()
  return { rejections: toRecentErrorViews(all, reloader.config), total: all.recentErrors.total }
}

export const toRecentErrorViews = (
  { recentErrors }: StatusReport,
  config: Config,
): RecentErrorsResponse['rejections'] => recentErrors.last.map((entry) => toRecentErrorView(entry, config))

export const toRecentErrorView = (entry: RecentError, config: Config): RecentErrorView => {
  const { at, path: _, cause: __, failedAttempt: ___, ...members } = entry
  return { at: formatTime(at), ...members, reason: describeReason(entry, config) }
}

const describeReason = (entry: RecentError, config: Config): string => {
  const { kind, reason, cause, failedAttempt, method, path } = entry
  const { listen } = config
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

/** A client's text may be a secret. */
const redactText = (): string => '…'
