import type { FailureReason } from '../../exchange/failures/reasons.ts'
import { groupByKey } from '../../log/row-counts.ts'
import type { EndpointReport } from '../../runtime/report/status-report.ts'
import { joinWithAnd } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

// What the network, a resolver, a clock or this gateway may cause, though nothing has changed at the endpoint.
const doubtfulReasons: ReadonlySet<FailureReason | null> = new Set([
  'unreachable',
  'not-connected-in-time',
  'name-not-found',
  'name-server-silent',
  'no-descriptors',
  'no-ports',
  'other-connect-failure',
  'certificate-not-yet-valid',
  'refuses-certificate',
] as const)

const ownCertificate: ReadonlySet<FailureReason | null> = new Set([
  'certificate-expired',
  'certificate-revoked',
] as const)

/**
 * Says of which endpoints the fault is for their owners to mend, and how that is known: a line for each way. `loadedAt`
 * is when the configuration took effect, since an edit may be the fault as well.
 */
export const ownerDetails = (
  endpoints: readonly EndpointReport[],
  { loadedAt }: Pick<FindingInputs, 'loadedAt'>,
): readonly string[] =>
  groupByKey(
    endpoints.flatMap((each) => {
      const how = findHow(each, loadedAt)
      return how === null ? [] : [{ how, url: each.url }]
    }),
    ({ how }) => how,
  ).map((same) => {
    const urls = same.map(({ url }) => url)
    return `for the owner of ${joinWithAnd(urls)} to mend: ${same[0].how}`
  })

/** Says how it is known that a fault is the endpoint's; null: it is not known, or there is none. */
const findHow = ({ lastFailure, failingSince, succeededAt }: EndpointReport, loadedAt: number): string | null => {
  if (lastFailure === null || failingSince === null) return null
  const { kind, reason } = lastFailure
  if (kind === null) return 'the error is in the answer itself'
  if (ownCertificate.has(reason)) return 'the endpoint itself shows that certificate'
  if (succeededAt === null || succeededAt < loadedAt || kind === 'connect-timeout' || doubtfulReasons.has(reason))
    return null
  return 'nothing has changed here since the last good answer'
}
