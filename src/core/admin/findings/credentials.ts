import type { IssuerKeysState } from '../../../features/auth/tokens/jwt/jwks-cache.ts'
import { type Group, groups } from '../../../operations.ts'
import { clientAuthorities, listenerCertificates } from '../../config/certificates.ts'
import type { Config } from '../../config/config.ts'
import { formatKeyPath } from '../../config/problem.ts'
import { expiryWarningMs } from '../../lib/net/expiry-warning.ts'
import type { EndpointReport } from '../../runtime/report/status-report.ts'
import { firstToExpire } from '../../upstream/endpoints/endpoint-certificates.ts'
import { formatTime } from '../format-time.ts'
import { createFinding, type Finding, mergeByGroup, wherePhrase } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

const fullShare = 0.9

export const credentialFindings = (inputs: FindingInputs): readonly Finding[] => [
  ...certificateFindings(inputs),
  ...tokenFindings(inputs),
]

/**
 * Lists the listeners' certificates and, of the authorities that clients are checked against, the first to expire. By
 * key in the configuration.
 */
export const listCertificates = (config: Config) =>
  [...listenerCertificates(config), ...clientAuthorities(config)].map(({ path, ...facts }) => ({
    key: formatKeyPath(path),
    ...facts,
  }))

const certificateFindings = ({ at, config }: FindingInputs): readonly Finding[] =>
  listCertificates(config).flatMap(({ key, notAfter }): readonly Finding[] => {
    if (notAfter - at > expiryWarningMs) return []
    const ends = formatTime(notAfter)
    return notAfter < at
      ? [createFinding('critical', key, `the certificate of ${key} has expired, at ${ends}`, { since: notAfter })]
      : [createFinding('warning', key, `the certificate of ${key} expires at ${ends}`)]
  })

const tokenFindings = ({
  report: {
    tokens: { jwt, introspection, proofs },
  },
  operatorKeys,
  file,
}: FindingInputs): readonly Finding[] => {
  const found: Finding[] = []
  const command = `lender-gateway check --online ${file.name}` // fetches the keys of both
  if (jwt?.error != null) {
    const cause = `the keys of the issuer (auth.jwt.jwks) cannot be had${wherePhrase(jwt)}: ${describeKeys(jwt)}`
    const severity = jwt.keys === 0 ? 'critical' : 'warning'
    found.push(createFinding(severity, 'auth.jwt', cause, { since: jwt.since, command }))
  }
  if (operatorKeys?.error != null) {
    const cause = `the keys of the issuer of operators (admin.jwt.jwks) cannot be had: ${describeKeys(operatorKeys)}`
    found.push(createFinding('warning', 'admin.jwt', cause, { since: operatorKeys.since, command }))
  }
  if (introspection?.error != null) {
    const cause = `the authorization server cannot be asked about tokens${wherePhrase(introspection)}: ${introspection.error}`
    found.push(createFinding('critical', 'auth.introspection', cause, { since: introspection.since }))
  }
  if (proofs !== null && proofs.remembered >= fullShare * proofs.room) {
    const cause = `the memory of proofs is nearly full: ${proofs.remembered} of ${proofs.room}`
    found.push(createFinding('warning', 'auth.dpop', cause))
  }
  return found
}

const describeKeys = ({ keys, error }: Pick<IssuerKeysState, 'keys' | 'error'>): string =>
  `${error}: ${keys === 0 ? 'no token can be checked' : `the keys that are known (${keys}) are used on`}`

/**
 * Finds certificates of endpoints of some groups that have expired, or soon will, as their last handshakes have shown.
 */
export const upstreamCertificateFindings = (
  inputs: FindingInputs,
  ofGroups: readonly Group[] = groups,
): readonly Finding[] =>
  mergeByGroup(
    ofGroups.flatMap((group) =>
      inputs.report.upstreams[group].endpoints.flatMap((each) => endpointCertificateFinding(group, each, inputs) ?? []),
    ),
  )

const endpointCertificateFinding = (group: Group, report: EndpointReport, inputs: FindingInputs): Finding | null => {
  const about = `upstreams.${group}`
  const { url, certificates } = report
  const { at, file } = inputs
  const certificate = firstToExpire(certificates)
  if (certificate === null || at < certificate.warnFrom) return null
  const { notAfter, address, seenAt } = certificate
  const where = certificates.length === 1 ? '' : `, as ${address} shows it,`
  const command = `lender-gateway check --online ${file.name}`
  if (notAfter > at)
    return createFinding('warning', about, `the certificate of ${url}${where} expires at ${formatTime(notAfter)}`, {
      command,
    })
  // Requests that fail for it say so by themselves.
  if (failsByExpiry(report, inputs)) return null
  const cause = `the certificate of ${url}${where} has expired, at ${formatTime(notAfter)}; it was last seen at ${formatTime(seenAt)}`
  const { verify } = inputs.config.upstreams[group].tls
  return createFinding(verify ? 'critical' : 'warning', about, cause, { since: notAfter, command })
}

const failsByExpiry = ({ url, failingSince, lastFailure }: EndpointReport, { report }: FindingInputs): boolean =>
  (failingSince !== null && lastFailure?.reason === 'certificate-expired') ||
  report.recentErrors.causes.some(({ endpoint, reason }) => endpoint === url && reason === 'certificate-expired')
