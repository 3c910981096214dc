import type { IssuerKeysState } from '../../../features/auth/tokens/jwt/jwks-cache.ts'
import { type Group, groups } from '../../../operations.ts'
import { clientAuthorities, listenerCertificates } from '../../config/certificates.ts'
import type { Config } from '../../config/config.ts'
import { formatKeyPath } from '../../config/problem.ts'
import { expiryWarningMs } from '../../lib/net/expiry-warning.ts'
import { formatTime } from '../../lib/text/format-time.ts'
import type { EndpointReport } from '../../runtime/status/endpoint.ts'
import { firstToExpire } from '../../upstream/endpoints/endpoint-certificates.ts'
import { checkCommandLine, type Finding, type FindingSource, finding, mergeByGroup, wherePhrase } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

const fullShare = 0.9

export const credentialFindings: FindingSource = (inputs) =>
  [certificateFindings, tokenFindings].flatMap((find) => find(inputs))

/**
 * Lists the listeners' certificates and, of the authorities that clients are checked against, the first to expire. By
 * key in the configuration.
 */
export const listCertificates = (config: Config) =>
  [...listenerCertificates(config), ...clientAuthorities(config)].map(({ path, ...facts }) => ({
    key: formatKeyPath(path),
    ...facts,
  }))

const certificateFindings: FindingSource = ({ at, config }) =>
  listCertificates(config).flatMap(({ key, notAfter }) => {
    if (notAfter - at > expiryWarningMs) return []
    if (notAfter >= at)
      return finding('certificate-expires', 'warning', key, { key, notAfter }, ({ key, notAfter }) => [
        `the certificate of ${key} expires at ${formatTime(notAfter)}`,
      ])
    return finding('certificate-expired', 'critical', key, { key, since: notAfter }, ({ key, since }) => [
      `the certificate of ${key} has expired, at ${formatTime(since)}`,
    ])
  })

const tokenFindings: FindingSource = ({ report: { tokens }, operatorKeys, file }) => {
  const { jwt, introspection, proofs } = tokens
  const found: Finding[] = []
  const command = checkCommandLine(file.name, '--online') // fetches the keys of both
  if (jwt?.error != null) {
    const severity = jwt.keys === 0 ? 'critical' : 'warning'
    found.push(
      finding('issuer-keys-missing', severity, 'auth.jwt', { ...jwt, command }, (jwt) => [
        `the keys of the issuer (auth.jwt.jwks) cannot be had${wherePhrase(jwt)}: ${describeKeys(jwt)}`,
      ]),
    )
  }
  if (operatorKeys?.error != null)
    found.push(
      finding('operator-keys-missing', 'warning', 'admin.jwt', { ...operatorKeys, command }, (keys) => [
        `the keys of the issuer of operators (admin.jwt.jwks) cannot be had: ${describeKeys(keys)}`,
      ]),
    )
  if (introspection?.error != null)
    found.push(
      finding('introspection-fails', 'critical', 'auth.introspection', introspection, ({ where, error }) => [
        `the authorization server cannot be asked about tokens${wherePhrase({ where })}: ${error}`,
      ]),
    )
  if (proofs !== null && proofs.remembered >= fullShare * proofs.room)
    found.push(
      finding('proofs-full', 'warning', 'auth.dpop', proofs, ({ remembered, room }) => [
        `the memory of proofs is nearly full: ${remembered} of ${room}`,
      ]),
    )
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
    inputs.at,
  )

const endpointCertificateFinding = (group: Group, report: EndpointReport, inputs: FindingInputs): Finding | null => {
  const about = `upstreams.${group}`
  const { url, certificates } = report
  const { at, file } = inputs
  const certificate = firstToExpire(certificates)
  if (certificate === null || at < certificate.warnFrom) return null
  const { notAfter } = certificate
  const address = certificates.length === 1 ? null : certificate.address
  const command = checkCommandLine(file.name, '--online')
  const facts = { ...certificate, url, address, endpoints: [url], command }
  const shownBy = ({ url, address }: typeof facts) => (address === null ? url : `${url}, as ${address} shows it,`)
  if (notAfter > at)
    return finding('endpoint-certificate-expires', 'warning', about, facts, (facts) => [
      `the certificate of ${shownBy(facts)} expires at ${formatTime(facts.notAfter)}`,
    ])
  // Requests that fail for it say so by themselves.
  if (failsByExpiry(report, inputs)) return null
  const severity = inputs.config.upstreams[group].tls.verify ? 'critical' : 'warning'
  return finding('endpoint-certificate-expired', severity, about, { ...facts, since: notAfter }, (facts) => [
    `the certificate of ${shownBy(facts)} has expired, at ${formatTime(facts.notAfter)}; it was last seen at ${formatTime(facts.seenAt)}`,
  ])
}

const failsByExpiry = ({ url, failingSince, lastFailure }: EndpointReport, { report }: FindingInputs): boolean =>
  (failingSince !== null && lastFailure?.reason === 'certificate-expired') ||
  report.recentErrors.causes.some(({ endpoint, reason }) => endpoint === url && reason === 'certificate-expired')
