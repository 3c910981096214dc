import { X509Certificate } from 'node:crypto'

/** Writes a certificate (PEM) as a proxy would: a byte sequence of its DER (RFC 9440 §2.1). */
export const clientCertField = (pem: string): string => `:${new X509Certificate(pem).raw.toString('base64')}:`
