import { type Group, groups } from '../../../operations.ts'
import { clientAuthorities, listenerCertificates } from '../../config/certificates.ts'
import type { Config } from '../../config/config.ts'
import { formatKeyPath } from '../../config/problem.ts'
import { expiryWarningMs, formatTime } from '../../lib/text/format-time.ts'
import type { EndpointReport } from '../../runtime/status/endpoint.ts'
import { firstToExpire } from '../../upstream/endpoints/endpoint-certificates.ts'
import { checkCommandLine, type Finding, type FindingSource, finding, mergeByGroup } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

/** Of the authorities for client certificates, the first to expire. */
export const listCertificates = (config: Config) =>
  [...listenerCertificates(config), ...clientAuthorities(config)].map(({ path, ...facts }) => ({
    key: formatKeyPath(path),
    ...facts,
  }))

export const certificateFindings: FindingSource = ({ at, config }) =>
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

/** By the endpoints' last handshakes. */
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
  // Failed requests report the expiry themselves.
  if (failsByExpiry(report, inputs)) return null
  const severity = inputs.config.upstreams[group].tls.verify ? 'critical' : 'warning'
  return finding('endpoint-certificate-expired', severity, about, { ...facts, since: notAfter }, (facts) => [
    `the certificate of ${shownBy(facts)} has expired, at ${formatTime(facts.notAfter)}; it was last seen at ${formatTime(facts.seenAt)}`,
  ])
}

const failsByExpiry = ({ url, failingSince, lastFailure }: EndpointReport, { report }: FindingInputs): boolean =>
  (failingSince !== null && lastFailure?.reason === 'certificate-expired') ||
  report.recentErrors.causes.some(({ endpoint, reason }) => endpoint === url && reason === 'certificate-expired')
