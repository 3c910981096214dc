import type { ConnectionOptions } from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates, type Pair } from '../../../helpers/certificates.ts'
import { needProgram } from '../../../helpers/program.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

describe.skipIf(openssl.missing)('certificates of clients', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  const versions = ['TLSv1.2', 'TLSv1.3'] as const

  /** Sends a request as each kind of client, and returns the statuses; 0: the handshake fails. */
  const statuses = async (port: number, version: 'TLSv1.2' | 'TLSv1.3'): Promise<object> => {
    const request = async (shown?: Pair): Promise<number> => {
      const options: ConnectionOptions = { minVersion: version, maxVersion: version, ...shown }
      return (await requestOverTls(port, options)).status
    }
    return {
      none: await request(),
      right: await request(made.client),
      selfSigned: await request(made.selfSigned),
      expired: await request(made.expired),
    }
  }

  test.each(versions)('%s: where they are required, no client comes in without a valid one', async (version) => {
    const client = { clientCertificates: 'required', clientCa: made.authority.cert, clientCrl: [made.noneRevoked] }
    const { port } = await bootTlsGateway(made.right, client)

    expect(await statuses(port, version)).toEqual({ none: 0, right: 200, selfSigned: 0, expired: 0 })
  })

  test.each(versions)('%s: where they are optional, none is as good as a valid one', async (version) => {
    const client = { clientCertificates: 'optional', clientCa: made.authority.cert }
    const { port, line } = await bootTlsGateway(made.right, client)

    expect(await statuses(port, version)).toEqual({ none: 200, right: 200, selfSigned: 0, expired: 0 })
    await line(({ msg, reason }) => msg === 'handshake failed' && reason === 'DEPTH_ZERO_SELF_SIGNED_CERT')
  })

  test.each(['optional', 'required'])('a revoked one is rejected where they are %s', async (clientCertificates) => {
    const client = { clientCertificates, clientCa: made.authority.cert, clientCrl: [made.clientRevoked] }
    const { port, line } = await bootTlsGateway(made.right, client)

    expect((await requestOverTls(port, made.client)).status).toBe(0)
    expect(await line(({ msg }) => msg === 'handshake failed')).toMatchObject({
      client: '127.0.0.1',
      reason: 'CERT_REVOKED',
    })
  })
})
