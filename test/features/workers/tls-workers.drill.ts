/** Two workers behind TLS: the primary accepts and reads nothing, each worker makes its handshakes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needCertificates } from '../../helpers/certificates.ts'
import type { Settings } from '../../helpers/gateway.ts'
import { exchangeRaw, parseStatus } from '../../helpers/raw-client.ts'
import { requestOverTls } from '../../helpers/tls-client.ts'
import { certificateEntry } from '../../helpers/tls-gateway.ts'
import { startWorkerGateway, type WorkerGateway } from '../../helpers/worker-gateway.ts'

const { made, missing } = await needCertificates()

describe.skipIf(missing)('two workers behind TLS', () => {
  let gateway: WorkerGateway
  const settings = (revoked: string): Settings => ({
    workers: 2,
    listen: {
      tls: {
        certificates: [certificateEntry(made.right)],
        clientCertificates: 'optional',
        clientCa: made.authority.cert,
        clientCrl: [revoked],
      },
    },
  })

  beforeAll(async () => {
    gateway = await startWorkerGateway(settings(made.noneRevoked))
  })
  afterAll(() => gateway?.stop())

  /** Sends four requests: two to each worker. */
  const sendAll = async (options: object) => {
    const all = []
    for (let n = 0; n < 4; n++) all.push(await requestOverTls(gateway.port, options))
    return all
  }

  test('serve, and respond to plain HTTP in the clear', async () => {
    const responses = await sendAll({ ca: made.authority.cert, rejectUnauthorized: true })

    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(parseStatus(await exchangeRaw(gateway.port, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'))).toBe(400)
    expect(gateway.lines.find(({ msg }) => msg === 'listening')).toMatchObject({ scheme: 'https', http2: false })
  })

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('each resumes a session of %s that another started', async (version) => {
    const only = { minVersion: version, maxVersion: version }
    const first = await requestOverTls(gateway.port, only)

    const again = await sendAll({ ...only, session: first.session })

    expect(again.map(({ resumed, status }) => [resumed, status])).toEqual(Array(4).fill([true, 200]))
  })

  test('all of them reject a client once it is revoked, with its session too', async () => {
    const first = await requestOverTls(gateway.port, made.client)
    gateway.edit(settings(made.clientRevoked))
    const { status } = await gateway.ask('POST', '/reload')

    const again = await sendAll({ ...made.client, session: first.session })

    expect([first.status, status]).toEqual([200, 200])
    expect(again.map((each) => each.status)).toEqual([0, 0, 0, 0])
  })
})
