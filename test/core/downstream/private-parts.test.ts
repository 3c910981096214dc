import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { createServer as createTlsServer, type Server } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { getFileDescriptor } from '../../../src/core/lib/file-descriptors.ts'
import { setTrustAnchors, trustAnchors } from '../../../src/core/lib/net/tls.ts'
import { needCertificates } from '../../helpers/certificates.ts'
import { tlsHandshake } from '../../helpers/tls-client.ts'

const { made, missing } = await needCertificates()

// The undocumented parts of Node that src uses. A release of Node that changes one fails here, by its name.

test('_handle.fd is the descriptor of an open server, and undefined for a closed one', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')

  const open = getFileDescriptor(server)
  const link = readlinkSync(`/proc/self/fd/${open}`)
  await new Promise((resolve) => server.close(resolve))

  expect(link).toMatch(/^socket:/)
  expect(getFileDescriptor(server)).toBeNull()
})

test.skipIf(missing)(
  '_sharedCreds: is the context of a server, which Node makes without allowPartialTrustChain',
  async () => {
    const { issued, issuing, right } = made
    const options = {
      ...{ key: right.key, cert: right.cert, ca: issuing.cert, requestCert: true, rejectUnauthorized: true },
      ...trustAnchors,
    }
    const outcomeAt = async (server: Server): Promise<string> => {
      await once(server.listen(0, '127.0.0.1'), 'listening')
      onTestFinished(() => void server.close())
      const outcome = Promise.race([
        once(server, 'secureConnection').then(() => 'secure'),
        once(server, 'tlsClientError').then(([, socket]) => String(socket.authorizationError)),
      ])
      const { socket } = await tlsHandshake((server.address() as AddressInfo).port, issued)
      onTestFinished(() => void socket.destroy())
      return outcome
    }
    const anchored = createTlsServer(options)
    setTrustAnchors(anchored, options)

    expect(await outcomeAt(createTlsServer(options))).toBe('UNABLE_TO_GET_ISSUER_CERT')
    expect(await outcomeAt(anchored)).toBe('secure')
  },
)
