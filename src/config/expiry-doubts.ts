import { wallClock } from '../clock.ts'
import { clientAuthorities } from './client-authorities.ts'
import type { Config } from './config.ts'
import type { Finding } from './problem.ts'
import { shownCertificates } from './shown-certificates.ts'

const dayMs = 24 * 3_600_000
// Whoever renews by machine does so earlier; whoever does it by hand has two weeks.
const soonDays = 14

/**
 * Lists certificates that have expired, or soon will. One that has is no reason to refuse: a gateway that must start again serves those who
 * look away rather than nobody.
 */
export const expiryDoubts = (config: Config): readonly Finding[] => [...ownDoubts(config), ...authorityDoubts(config)]

/** TLS refuses whose certificate such an authority has issued. Of Client-Cert that is for the proxy in front: RFC 5280 §6.1.1 has no time of an anchor. */
const authorityDoubts = (config: Config): readonly Finding[] => {
  const at = wallClock()
  return clientAuthorities(config).flatMap(({ path, names, notAfter }): readonly Finding[] => {
    if (notAfter - at > soonDays * dayMs) return []
    return [
      {
        path,
        message:
          notAfter < at
            ? 'AN AUTHORITY OF CLIENTS HAS EXPIRED: whose certificate it has issued is refused, or should be'
            : `an authority of clients expires within ${soonDays} days`,
        expected: `authorities that are good for more than ${soonDays} days`,
        found: `${names.join()} until ${new Date(notAfter).toISOString()}`,
        hint: 'add its successor to the file, and remove it when no client needs it any more',
      },
    ]
  })
}

const ownDoubts = (config: Config): readonly Finding[] => {
  const at = wallClock()
  return shownCertificates(config).flatMap(({ path, notAfter }): readonly Finding[] => {
    if (notAfter - at > soonDays * dayMs) return []
    const expired = notAfter < at
    return [
      {
        path: [...path, 'certificate'],
        message: expired
          ? 'THIS CERTIFICATE HAS EXPIRED: whoever verifies it does not connect'
          : `this certificate expires within ${soonDays} days`,
        expected: `a certificate that is good for more than ${soonDays} days`,
        found: `one until ${new Date(notAfter).toISOString()}`,
        hint: 'replace the file and that of its key; both are taken while the gateway runs',
      },
    ]
  })
}
