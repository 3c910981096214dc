import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { makeCertificates } from '../helpers/certificates.ts'
import { bootLiveGateway, fetchAdmin } from '../helpers/live-gateway.ts'
import { needProgram } from '../helpers/program.ts'

const openssl = await needProgram('openssl')

// A renewal has no edit: the file of the certificate changes, and connections to all endpoints are new.
test.skipIf(openssl.missing !== null)(
  'an endpoint that is down stays so when the client certificate of the gateway is renewed',
  async () => {
    const { authority, bankA, client, right } = makeCertificates(openssl.path ?? '')
    /** Opens an endpoint that asks for a client certificate, and returns the names in those that requests had. */
    const open = async (status: number) => {
      const asked: string[] = []
      const options = { key: right.key, cert: right.cert, ca: authority.cert, requestCert: true }
      const server = createServer(options, ({ url, socket }, response) => {
        const { subject } = (socket as TLSSocket).getPeerCertificate()
        if (url !== '/health') asked.push(String(subject.CN))
        response.writeHead(status).end()
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => {
        server.close()
        server.closeAllConnections()
      })
      return { url: `https://localhost:${(server.address() as AddressInfo).port}`, asked }
    }
    const [well, ill] = [await open(200), await open(500)]
    const live = await bootLiveGateway()
    const present = ({ cert, key }: typeof client): void => {
      writeFileSync(join(live.folder, 'client.pem'), cert)
      writeFileSync(join(live.folder, 'client.key'), key)
    }
    const reload = () => live.gateway.reload('signal')
    const ask = async (): Promise<number> => (await fetch(`${live.url}/market/insights`)).status
    present(client)
    live.edit({
      upstreams: {
        market: {
          endpoints: [well.url, ill.url],
          tls: { ca: authority.cert, certificate: 'file:client.pem', key: 'file:client.key' },
          healthCheck: { path: '/health', interval: '1s' },
        },
      },
    })
    await reload()
    const upstreams = async () => (await fetchAdmin(`${live.admin}/status`)).body.upstreams
    await expect.poll(upstreams).toMatchObject({ market: { endpoints: [{ state: 'up' }, { state: 'down' }] } })

    present(bankA)
    const { result } = await reload()
    const statuses = await Promise.all(Array.from({ length: 20 }, ask))

    expect(result).toBe('applied')
    expect(statuses).toEqual(Array(20).fill(200))
    expect([new Set(well.asked), ill.asked]).toEqual([new Set(['bank-a']), []])
  },
)
