import { hkdfSync, randomBytes } from 'node:crypto'
import { epochMs } from '../../clock.ts'
import type { ListenTlsConfig } from '../../config/config.ts'

/** Makes what the keys of session tickets are made from. */
export const createTicketSecret = (): string => randomBytes(32).toString('hex')

const dayMs = 24 * 3_600_000

/** Tells which day it is, for {@link deriveTicketKeys}. */
export const getTicketEpoch = (): number => Math.floor(epochMs() / dayMs)

/**
 * Makes the keys of session tickets. Workers that know the same secret make the same, so that each resumes what another began. A ticket
 * carries what was found out about the client's certificate: whenever it would be judged in another way, the keys are others, and the
 * client shows it again. They last a day, so that whoever steals them reads what was sent with them on that day and no other (TLS 1.2).
 */
export const deriveTicketKeys = (
  secret: string,
  { clientCertificates, clientCa, clientCrl }: Pick<ListenTlsConfig, 'clientCertificates' | 'clientCa' | 'clientCrl'>,
  epoch: number,
): Buffer => {
  const clientAuthConfig = JSON.stringify([clientCertificates, clientCa, clientCrl])
  return Buffer.from(hkdfSync('sha256', secret, '', `tickets ${epoch} ${clientAuthConfig}`, 48))
}
