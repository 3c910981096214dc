import type { CertificateStatus } from './answers.ts'
import type { Row } from './table.ts'

// As the warning of the configuration has it.
const soonDays = 14

/** Lists the certificates that the gateway shows; what needs somebody is in capitals. */
export const certificateRows = (certificates: readonly CertificateStatus[]): readonly Row[] => [
  ['certificate', 'until', 'left', 'names'],
  ...certificates.map(
    ({ key, names, notAfter, daysLeft }): Row => [key, notAfter, leftText(daysLeft), names.join(', ')],
  ),
]

const leftText = (days: number): string => {
  if (days < 0) return 'EXPIRED'
  return days < soonDays ? `ONLY ${days} DAYS` : `${days} days`
}
