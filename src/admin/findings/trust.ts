import { clientAuthorities } from '../../config/client-authorities.ts'
import { formatPath } from '../../config/problem.ts'
import { shownCertificates } from '../../config/shown-certificates.ts'
import { soonMs } from '../../shared/certificate-end.ts'
import { time } from '../time.ts'
import { type Finding, finding } from './finding.ts'
import type { Reading } from './reading.ts'

const fullShare = 0.9

/** Finds what is wrong with certificates, and with what tokens are checked by. */
export const trustFindings = (reading: Reading): readonly Finding[] => [...certificates(reading), ...tokens(reading)]

const certificates = ({ at, config }: Reading): readonly Finding[] =>
  [...shownCertificates(config), ...clientAuthorities(config)].flatMap(({ path, notAfter }): readonly Finding[] => {
    if (notAfter - at > soonMs) return []
    const key = formatPath(path)
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

const placed = ({ where }: { readonly where: string | null }): string => (where === null ? '' : ` ${where}`)
