import { groups } from '../../catalog.ts'
import type { EndpointReport } from '../../snapshot/report.ts'
import { firstToEnd } from '../../upstream/certificates.ts'
import { time } from '../time.ts'
import { grouped } from './counted.ts'
import { type Finding, finding } from './finding.ts'
import type { Reading } from './reading.ts'

/** Finds certificates of endpoints that have expired, or soon will, as their last handshakes have shown them. */
export const upstreamCertificateFindings = (reading: Reading): readonly Finding[] => {
  const found = groups.flatMap((group) =>
    reading.report.upstreams[group].endpoints.flatMap((each) => {
      const { verify } = reading.config.upstreams[group].tls
      const told = endpoint(each, verify, reading)
      return told === null ? [] : [{ group, told }]
    }),
  )
  return grouped(found, ({ told }) => `${told.severity} ${told.cause}`).flatMap((same): readonly Finding[] => {
    const [first, ...others] = same
    if (first === undefined) return []
    const behind = [...new Set(others.map(({ group }) => group))].filter((group) => group !== first.group)
    const also = behind.length === 0 ? '' : ` (the same behind ${behind.join(', ')})`
    return [{ ...first.told, about: `upstreams.${first.group}`, cause: first.told.cause + also }]
  })
}

const endpoint = (report: EndpointReport, verify: boolean, reading: Reading): Finding | null => {
  const { url, certificates } = report
  const { at, file } = reading
  const certificate = firstToEnd(certificates)
  if (certificate === null || at < certificate.soonFrom) return null
  const { notAfter, address, seenAt } = certificate
  const where = certificates.length === 1 ? '' : `, as ${address} shows it,`
  const command = `lender-gateway check --online ${file.name}`
  if (notAfter > at)
    return finding('warning', '', `the certificate of ${url}${where} expires at ${time(notAfter)}`, { command })
  // Requests that fail for it say so by themselves.
  if (failsForIt(report, reading)) return null
  const cause = `the certificate of ${url}${where} has expired, at ${time(notAfter)}; it was last seen at ${time(seenAt)}`
  return finding(verify ? 'critical' : 'warning', '', cause, { since: notAfter, command })
}

const failsForIt = ({ url, failingSince, lastFailure }: EndpointReport, { report }: Reading): boolean =>
  (failingSince !== null && lastFailure?.reason === 'certificate-expired') ||
  report.refusals.causes.some(({ endpoint, reason }) => endpoint === url && reason === 'certificate-expired')
