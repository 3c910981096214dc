import { wallClock } from '../clock.ts'
import type { ShownCertificate } from '../config/certificate-facts.ts'
import { formatPath } from '../config/problem.ts'
import { time } from './time.ts'

const dayMs = 24 * 3_600_000

/** Tells of a certificate that the gateway shows; of one that has expired, `daysLeft` is below 0. */
export const certificateStatus = ({ path, names, notAfter }: ShownCertificate) => ({
  key: formatPath(path),
  names,
  ...endOf(notAfter),
})

/** Tells when a certificate ends; `daysLeft` is below 0 when it has. */
export const endOf = (notAfter: number) => ({
  notAfter: time(notAfter),
  daysLeft: Math.floor((notAfter - wallClock()) / dayMs),
})
