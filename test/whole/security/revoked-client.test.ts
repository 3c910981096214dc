import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { needCertificates } from '../../helpers/certificates.ts'
import { requestOverTls, type TlsResponse } from '../../helpers/tls-client.ts'
import { bootTlsGateway, certificateEntry } from '../../helpers/tls-gateway.ts'

const { made, missing } = await needCertificates()
const versions = ['TLSv1.2', 'TLSv1.3'] as const

/** Asks over each version of TLS, as a client, and with its sessions of before. */
const askAll = (port: number, client: object = {}, before: readonly TlsResponse[] = []) =>
  Promise.all(
    versions.map((version, nth) => {
      const only = { minVersion: version, maxVersion: version }
      return requestOverTls(port, { ...only, ...client, session: before[nth]?.session })
    }),
  )
const statuses = (responses: readonly TlsResponse[]) => responses.map(({ status }) => status)
const resumed = (responses: readonly TlsResponse[]) => responses.map((each) => each.resumed)

// The attack: a client resumes a session of yesterday. Its certificate is not checked then: what was found out about it
// stands in the ticket, and TLS 1.3 takes the session itself for a proof of the client's identity. So a client that has
// been revoked since, or that never had to show anything, would come in.
describe.skipIf(missing)('a session that is resumed', () => {
  const required = (list: string) => ({
    ...{ clientCertificates: 'required', clientCa: made.authority.cert, clientCrl: [list] },
  })

  test('is good for as long as clients are judged as they were, and not past a list that names the client', async () => {
    const { port, write, edit, reload } = await bootTlsGateway(made.right, required(made.noneRevoked))
    const first = await askAll(port, made.client)
    write(made.renewed)
    await reload()
    const renewed = await askAll(port, made.client, first)
    edit({ listen: { tls: { ...required(made.clientRevoked), certificates: [certificateEntry(made.right)] } } })
    const { result } = await reload()

    const revoked = await askAll(port, made.client, first)

    expect([first, renewed].map(statuses)).toEqual(Array(2).fill([200, 200]))
    expect(resumed(renewed)).toEqual([true, true])
    expect([result, statuses(revoked)]).toEqual(['applied', [0, 0]])
  })

  test('does not come in where a certificate is required meanwhile', async () => {
    const { port, edit, reload } = await bootTlsGateway(made.right)
    const first = await askAll(port)
    edit({ listen: { tls: { ...required(made.noneRevoked), certificates: [certificateEntry(made.right)] } } })
    await reload()

    expect([first, await askAll(port, {}, first)].map(statuses)).toEqual([
      [200, 200],
      [0, 0],
    ])
  })

  test('that began with a certificate of no client stays out, where a connection without one gets in', async () => {
    const client = { clientCertificates: 'optional', clientCa: made.authority.cert }
    const { port } = await bootTlsGateway(made.right, client)
    const first = await askAll(port, made.selfSigned)

    const again = await askAll(port, made.selfSigned, first)

    expect([first, again].map(statuses)).toEqual(Array(2).fill([0, 0]))
  })

  // The attack: a client resumes its session every few minutes. Over TLS 1.3 it gets a new ticket each time, so that
  // five minutes limit nothing, and the certificate that has expired long since is never checked again.
  // A gateway for each version: of the same reason there is a line a second.
  test.each(versions)('lasts no longer than the certificate that it began with (%s)', async (version) => {
    const { port, line } = await bootTlsGateway(made.right, required(made.noneRevoked))
    const shown = { minVersion: version, maxVersion: version, ...made.brief }
    const first = await requestOverTls(port, shown)
    const second = await requestOverTls(port, { ...shown, session: first.session })

    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 2 * 3_600_000)
    onTestFinished(() => clock.mockRestore())
    const late = await requestOverTls(port, { ...shown, session: second.session })

    expect([first.status, second.status, second.resumed, late.status]).toEqual([200, 200, true, 0])
    await line(({ msg, reason }) => msg === 'handshake failed' && reason === 'CERT_HAS_EXPIRED')
  })
})
