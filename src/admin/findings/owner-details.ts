import type { FailureReason } from '../../failures/reasons.ts'
import type { EndpointReport } from '../../runtime/report/status-report.ts'
import { groupByKey, joinWithAnd } from './finding.ts'

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
 * Says of which endpoints the fault is for their owners to mend, and how that is known: a line for each way. What is
 * known of an endpoint begins anew when its settings change, so one that has ever answered is asked as it was then.
 */
export const ownerDetails = (endpoints: readonly EndpointReport[]): readonly string[] =>
  groupByKey(
    endpoints.flatMap((each) => {
      const how = findHow(each)
      return how === null ? [] : [{ how, url: each.url }]
    }),
    ({ how }) => how,
  ).map((same) => {
    const urls = same.map(({ url }) => url)
    return `for the owner of ${joinWithAnd(urls)} to mend: ${same[0]?.how}`
  })

/** Says how it is known that a fault is the endpoint's; null: it is not known, or there is none. */
const findHow = ({ lastFailure, failingSince, succeededAt }: EndpointReport): string | null => {
  if (lastFailure === null || failingSince === null) return null
  const { kind, reason } = lastFailure
  if (kind === null) return 'the error is in the answer itself'
  if (ownCertificate.has(reason)) return 'the certificate is shown there'
  if (succeededAt === null || kind === 'connect-timeout' || doubtfulReasons.has(reason)) return null
  return 'nothing has changed here since the last good answer'
}
