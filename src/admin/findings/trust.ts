import { type Group, groups } from '../../catalog.ts'
import { clientAuthorities, shownCertificates } from '../../config/certificate.ts'
import type { Config } from '../../config/config.ts'
import { formatPath } from '../../config/problem.ts'
import type { EndpointReport } from '../../snapshot/report.ts'
import { firstToEnd, soonMs } from '../../upstream/certificates.ts'
import { time } from '../time.ts'
import { type Finding, finding, merged, placed } from './finding.ts'
import type { Reading } from './reading.ts'

const fullShare = 0.9

/** Finds what is wrong with certificates, and with what tokens are checked by. */
export const trustFindings = (reading: Reading): readonly Finding[] => [...certificates(reading), ...tokens(reading)]

/** Lists what the gateway shows, and the first to end of the authorities that it asks clients by, by its key in the file. */
export const certificatesOf = (config: Config) =>
  [...shownCertificates(config), ...clientAuthorities(config)].map(({ path, ...facts }) => ({
    key: formatPath(path),
    ...facts,
  }))

const certificates = ({ at, config }: Reading): readonly Finding[] =>
  certificatesOf(config).flatMap(({ key, notAfter }): readonly Finding[] => {
    if (notAfter - at > soonMs) return []
    const ends = time(notAfter)
    return notAfter < at
      ? [finding('critical', key, `the certificate of ${key} has expired, at ${ends}`, { since: notAfter })]
      : [finding('warning', key, `the certificate of ${key} expires at ${ends}`)]
  })

const tokens = ({
  report: {
    tokens: { jwt, introspection, proofs },
  },
}: Reading): readonly Finding[] => {
  const found: Finding[] = []
  if (jwt?.error != null) {
    const none = jwt.keys === 0
    const instead = none ? 'no token can be checked' : `the ${jwt.keys} that are known are used on`
    const cause = `the keys of the issuer (auth.jwt.jwks) cannot be had${placed(jwt)}: ${jwt.error}: ${instead}`
    found.push(finding(none ? 'critical' : 'warning', 'auth.jwt', cause, { since: jwt.since }))
  }
  if (introspection?.error != null) {
    const cause = `the authorization server cannot be asked about tokens${placed(introspection)}: ${introspection.error}`
    found.push(finding('critical', 'auth.introspection', cause, { since: introspection.since }))
  }
  if (proofs !== null && proofs.remembered >= fullShare * proofs.room) {
    const cause = `the memory of proofs is nearly full: ${proofs.remembered} of ${proofs.room}`
    found.push(finding('warning', 'auth.dpop', cause))
  }
  return found
}

/** Finds certificates of endpoints that have expired, or soon will, as their last handshakes have shown them. */
export const upstreamCertificateFindings = (reading: Reading): readonly Finding[] =>
  merged(
    groups.flatMap((group) =>
      reading.report.upstreams[group].endpoints.flatMap((each) => endpoint(group, each, reading) ?? []),
    ),
  )

const endpoint = (group: Group, report: EndpointReport, reading: Reading): Finding | null => {
  const about = `upstreams.${group}`
  const { url, certificates } = report
  const { at, file } = reading
  const certificate = firstToEnd(certificates)
  if (certificate === null || at < certificate.soonFrom) return null
  const { notAfter, address, seenAt } = certificate
  const where = certificates.length === 1 ? '' : `, as ${address} shows it,`
  const command = `lender-gateway check --online ${file.name}`
  if (notAfter > at)
    return finding('warning', about, `the certificate of ${url}${where} expires at ${time(notAfter)}`, { command })
  // Requests that fail for it say so by themselves.
  if (failsForIt(report, reading)) return null
  const cause = `the certificate of ${url}${where} has expired, at ${time(notAfter)}; it was last seen at ${time(seenAt)}`
  const { verify } = reading.config.upstreams[group].tls
  return finding(verify ? 'critical' : 'warning', about, cause, { since: notAfter, command })
}

const failsForIt = ({ url, failingSince, lastFailure }: EndpointReport, { report }: Reading): boolean =>
  (failingSince !== null && lastFailure?.reason === 'certificate-expired') ||
  report.refusals.causes.some(({ endpoint, reason }) => endpoint === url && reason === 'certificate-expired')
