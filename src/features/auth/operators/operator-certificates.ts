import { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Operator } from '../../../core/admin/access/operator.ts'
import { pemBlocks } from '../../../core/config/certificates.ts'
import type { AdminConfig } from '../../../core/config/config.ts'
import { weakMemo } from '../../../core/lib/memo.ts'
import { certificateThumbprint, hasIssued, isForClients, isValidNow, subjectAltNames } from '../client-certificate.ts'

type CertificateConfig = NonNullable<NonNullable<AdminConfig['tls']>['clientCertificate']>

/**
 * Finds the operator of the certificate that a connection has shown; null: it has shown none that is good. The
 * handshake has proved that the client holds the key. Whether the certificate is good now is looked at again for each
 * request: a connection may be older than the authorities and the operators of the file.
 */
export const findOperatorByCertificate = (socket: Socket, { tls }: AdminConfig): Operator | null => {
  if (tls === null || tls.clientCertificate === null || !isTls(socket)) return null
  const certificate = shownCertificate(socket)
  // `authorized` alone says nothing of a resumed session.
  if (certificate === undefined || !socket.authorized || !isValidNow(certificate)) return null
  const isGood = readAuthorities(tls.clientCertificate).some((authority) => hasIssued(authority, certificate))
  return isGood && isForClients(certificate) ? findByName(certificate, tls.clientCertificate) : null
}

const shownBefore = new WeakMap<TLSSocket, X509Certificate>()

/**
 * Gets the certificate that a connection shows. One that has closed shows none: an order that waits is judged by what
 * it showed, since a client that leaves before has given the order all the same.
 */
const shownCertificate = (socket: TLSSocket): X509Certificate | undefined => {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return shownBefore.get(socket)
  shownBefore.set(socket, certificate)
  return certificate
}

const isTls = (socket: Socket): socket is TLSSocket => 'getPeerX509Certificate' in socket

/** Finds the operator of the names of a certificate. One with the names of several is of none. */
const findByName = (certificate: X509Certificate, { operators }: CertificateConfig): Operator | null => {
  const names = new Set([`sha256:${certificateThumbprint(certificate)}`, ...subjectAltNames(certificate)])
  const [found, ...others] = operators.filter(({ san }) => names.has(san))
  if (found === undefined || others.some(({ name, scope }) => name !== found.name || scope !== found.scope)) return null
  return { name: found.name, scope: found.scope, proof: 'certificate' }
}

// A configuration never changes: the next one is another object.
const readAuthorities = weakMemo(({ ca }: CertificateConfig) =>
  pemBlocks(ca).map((block) => new X509Certificate(block)),
)
