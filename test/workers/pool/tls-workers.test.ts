/** Two workers behind TLS: the primary accepts and reads nothing, each worker makes its handshakes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../../helpers/certificates.ts'
import type { Settings } from '../../helpers/gateway.ts'
import { needProgram } from '../../helpers/program.ts'
import { exchangeRaw, parseStatus } from '../../helpers/raw-client.ts'
import { requestOverTls } from '../../helpers/tls-client.ts'
import { certificateEntry } from '../../helpers/tls-gateway.ts'
import { startWorkerGateway, type WorkerGateway } from '../worker-gateway.ts'

const openssl = await needProgram('openssl')

describe.skipIf(openssl.missing)('two workers behind TLS', () => {
  let made: Certificates
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
    made = makeCertificates(openssl.path ?? '')
    gateway = await startWorkerGateway(settings(made.noneRevoked))
  })
  afterAll(() => gateway?.stop())

  /** Asks four times: each worker is asked twice. */
  const askAll = async (options: object) => {
    const all = []
    for (let n = 0; n < 4; n++) all.push(await requestOverTls(gateway.port, options))
    return all
  }

  test('serve, and answer plain HTTP in the clear', async () => {
    const asked = await askAll({ ca: made.authority.cert, rejectUnauthorized: true })

    expect(asked.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(parseStatus(await exchangeRaw(gateway.port, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'))).toBe(400)
    expect(gateway.lines.find(({ msg }) => msg === 'listening')).toMatchObject({ scheme: 'https', http2: false })
  })

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('each resumes a session of %s that another began', async (version) => {
    const only = { minVersion: version, maxVersion: version }
    const first = await requestOverTls(gateway.port, only)

    const again = await askAll({ ...only, session: first.session })

    expect(again.map(({ resumed, status }) => [resumed, status])).toEqual(Array(4).fill([true, 200]))
  })

  test('all of them refuse a client once it is revoked, with its session too', async () => {
    const first = await requestOverTls(gateway.port, made.client)
    gateway.edit(settings(made.clientRevoked))
    const { status } = await gateway.ask('POST', '/reload')

    const again = await askAll({ ...made.client, session: first.session })

    expect([first.status, status]).toEqual([200, 200])
    expect(again.map((asked) => asked.status)).toEqual([0, 0, 0, 0])
  })
})
