import { flag, number, shape, text } from './shape.ts'

/** The certificate that an endpoint showed last. */
export interface ShownCertificate {
  readonly notAfter: string
  /** Below 0: it has expired. */
  readonly daysLeft: number
  readonly endsSoon: boolean
}

/** Reads it. */
export const shownCertificate = shape<ShownCertificate>({ notAfter: text, daysLeft: number, endsSoon: flag })

/** Says when it ends, where somebody is needed; empty: nobody is. */
export const endText = (certificate: ShownCertificate | null): string => {
  if (certificate === null || !certificate.endsSoon) return ''
  const { notAfter, daysLeft } = certificate
  return daysLeft < 0 ? `, certificate EXPIRED ${notAfter}` : `, certificate EXPIRES ${notAfter}, ${daysLeft} days left`
}
