import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates } from '../helpers/certificates.ts'
import { bootGateway, openGateway, type Settings } from '../helpers/gateway.ts'
import { needProgram } from '../helpers/program.ts'
import { slowLink } from '../helpers/slow-link.ts'
import { tlsHandshake } from '../helpers/tls-client.ts'
import { certificateEntry } from '../helpers/tls-gateway.ts'
import { openRawUpstream } from '../helpers/upstream.ts'
import { awaitDrain, pseudoRandomBytes, readToEnd, renderHead } from '../helpers/wire.ts'

const openssl = await needProgram('openssl')

// More than the kernel's buffers on both sides of the link take.
const piece = pseudoRandomBytes(64 * 1024)
const pieces = 384 // 24 MiB

const closers: (() => Promise<unknown>)[] = []
const links = { plain: 0, tls: 0 }

/** Boots a gateway behind a link on which an upload takes more than a second. */
const bootFarAway = async (upstream: string, listen: Settings['listen'] = {}): Promise<number> => {
  const { port, gateway } = await openGateway({
    upstream,
    listen,
    operations: { 'valuation.forecast': { maxBody: '1MiB' } },
  })
  const link = await slowLink({ to: port, delayMs: 50, bytesPerSecond: 20_000_000 })
  closers.push(link.close, () => gateway.close())
  return link.port
}

beforeAll(async () => {
  const early = await openRawUpstream((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nmuch')).resume()
  })
  closers.push(early.close)
  links.plain = await bootFarAway(early.url)
  if (openssl.path === null) return
  const { right } = makeCertificates(openssl.path)
  links.tls = await bootFarAway(early.url, { tls: { certificates: [certificateEntry(right)] } })
})

afterAll(async () => {
  for (const close of closers.reverse()) await close()
})

// Node's sockets otherwise write nothing more once the other side has ended.
const dialHalfOpen = (port: number): Socket => connect({ port, host: '127.0.0.1', allowHalfOpen: true })

/** Writes a whole upload before it reads; returns the status, or how the writing failed. */
const upload = async (socket: Socket, target: string): Promise<number | string> => {
  let failed = ''
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failed = error.code ?? error.message
  })
  socket.pause()
  const length = String(pieces * piece.length)
  const fields = ['Content-Length', length, 'Connection', 'keep-alive']
  socket.write(renderHead({ method: 'POST', target, fields }))
  for (let i = 0; i < pieces && !socket.destroyed; i++) if (!socket.write(piece)) await awaitDrain(socket)
  if (failed !== '') return failed
  const heard = readToEnd(socket)
  socket.once('end', () => socket.end()).resume()
  const response = await heard
  return response.whole ? response.status : 'cut'
}

describe('a client that writes all of an upload before it reads anything gets the rejection', () => {
  test.concurrent.each([
    ['of a body that is too large', '/valuation/forecast'],
    ['of the upstream, which responds early', '/valuation/score'],
  ])('%s', async (_, target) => {
    expect(await upload(dialHalfOpen(links.plain), target)).toBe(413)
  })

  test.skipIf(openssl.missing)(
    'a client that writes a whole upload to an unknown path over TLS before it reads gets the rejection',
    async () => {
      const { socket } = await tlsHandshake(links.tls, { socket: dialHalfOpen(links.tls) })

      expect(await upload(socket, '/unknown')).toBe(404)
    },
  )

  test('a client that writes a whole upload gets a rejection that came before its chunks were malformed', async () => {
    const socket = dialHalfOpen(links.plain)
    await once(socket, 'connect')
    socket.write(renderHead({ method: 'POST', target: '/unknown', fields: ['Transfer-Encoding', 'chunked'] }))
    socket.write('x\r\n')

    expect(await upload(socket, '/ignored')).toBe(404)
  })
})

test('a stop cuts clients that continue after their rejection at its deadline', async () => {
  const { port, gateway } = await bootGateway({ shutdown: { wait: '0ms', deadline: '200ms' } })
  const socket = dialHalfOpen(port)
  socket.write(renderHead({ method: 'POST', target: '/unknown', fields: ['Content-Length', '1000000'] }))
  await once(socket, 'data')
  const startedAt = performance.now()

  await gateway.close()

  expect(performance.now() - startedAt).toBeLessThan(5_000)
  socket.destroy()
})
