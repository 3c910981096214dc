import { hash, hkdfSync, randomBytes } from 'node:crypto'
import type { ListenTlsConfig } from '../../config/config.ts'
import { epochMs } from '../../lib/clock.ts'

/**
 * How long a client may resume a session, in seconds (RFC 8446 §4.6.1). No client comes in on a certificate that has
 * expired long ago.
 */
export const sessionTimeoutSeconds = 300

export const createTicketSecret = (): string => randomBytes(32).toString('hex')

const dayMs = 24 * 3_600_000

/** Returns the day, for {@link deriveTicketKeys}. */
export const getTicketEpoch = (): number => Math.floor(epochMs() / dayMs)

/**
 * Derives the keys of session tickets. Workers with the same secret derive the same keys, so that each resumes the
 * sessions of the others. A ticket carries the verdict on the client's certificate: whenever that would be judged in
 * another way, the keys are others, and the client shows it again. They last a day, so that a thief reads what was sent
 * with them on that day and no other (TLS 1.2).
 */
export const deriveTicketKeys = (
  secret: string,
  { clientCertificates, clientCa, clientCrl }: Pick<ListenTlsConfig, 'clientCertificates' | 'clientCa' | 'clientCrl'>,
  epoch: number,
): Buffer => {
  // Node takes 1024 bytes there, and one authority alone may have more.
  const clientAuthDigest = hash('sha256', JSON.stringify([clientCertificates, clientCa, clientCrl]))
  return Buffer.from(hkdfSync('sha256', secret, '', `tickets ${epoch} ${clientAuthDigest}`, 48))
}
