import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { makeCertificates } from '../helpers/certificates.ts'
import { dialThrough } from '../helpers/dial-through.ts'
import type { Settings } from '../helpers/gateway.ts'
import { needProgram } from '../helpers/program.ts'
import { tlsHandshake } from '../helpers/tls-client.ts'
import { certificateEntry } from '../helpers/tls-gateway.ts'
import { pseudoRandomBytes, readToEnd, renderHead, sha256 } from '../helpers/wire.ts'

const openssl = await needProgram('openssl')

const dialHalfOpen = (port: number): Socket => connect({ port, host: '127.0.0.1', allowHalfOpen: true })

const get = renderHead({ fields: ['Connection', 'keep-alive'] })
const post = `${renderHead({ method: 'POST', target: '/valuation/score', fields: ['Content-Length', '3'] })}abc`

/** Boots a gateway whose upstream responds on release. */
const bootPatient = async (bytes: string, settings: Settings = {}) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const respond = async (socket: Socket): Promise<void> => {
    await promise
    socket.write(bytes)
  }
  const { port } = await dialThrough(respond, settings)
  return { port, respond: resolve }
}

/** Sends a request, ends this side, and reads the response; the upstream responds once its first byte has come. */
const endBehind = async (socket: Socket, request: string, respond: () => void) => {
  const response = readToEnd(socket)
  socket.end(request)
  await once(socket, 'data')
  respond()
  socket.once('end', () => socket.destroy())
  return response
}

const overTls = (): Settings => {
  const { right } = makeCertificates(openssl.path ?? '')
  return { listen: { tls: { certificates: [certificateEntry(right)] } } }
}

const hello = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'

describe('a client that ends its side after its request gets its response', () => {
  test.each([
    ['a GET', get, hello, 200],
    ['a POST', post, hello, 200],
    ['of HTTP/1.0', renderHead({ version: '1.0' }), hello, 200],
    ['behind hints', get, `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${hello}`, 200],
    ['that is the gateway’s own', get, 'nonsense\r\n\r\n', 502],
  ])('%s', async (_, request, said, status) => {
    const { port, respond } = await bootPatient(said)

    const response = await endBehind(dialHalfOpen(port), request, respond)

    expect(response).toMatchObject({ version: '1.1', status, interim: [], whole: true })
  })

  test('a client that ends its side when the head has come gets its whole response', async () => {
    const body = pseudoRandomBytes(300_000)
    let goOn = () => {}
    const { port } = await dialThrough((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`)
      socket.write(body.subarray(0, 1000))
      goOn = () => void socket.write(body.subarray(1000))
    })
    const socket = dialHalfOpen(port)

    const response = readToEnd(socket)
    socket.write(get)
    await once(socket, 'data')
    socket.end(goOn)
    socket.once('end', () => socket.destroy())

    expect(await response).toMatchObject({ status: 200, whole: true, sha256: sha256(body) })
  })

  test.skipIf(openssl.missing).each(['TLSv1.2', 'TLSv1.3'] as const)('over %s, by close_notify', async (version) => {
    const { port, respond } = await bootPatient(hello, overTls())
    const versions = { minVersion: version, maxVersion: version }
    const { socket } = await tlsHandshake(port, { socket: dialHalfOpen(port), ...versions })

    expect(await endBehind(socket, get, respond)).toMatchObject({ status: 200, whole: true })
  })
})

test.skipIf(openssl.missing)('a client that has closed cancels its call, over TLS too', async () => {
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<Socket>()
  const { port, line } = await dialThrough(onAsked, overTls())
  const { socket } = await tlsHandshake(port)
  socket.write(get)
  const upstreamSide = await asked

  socket.destroy()
  await Promise.race([once(upstreamSide, 'end'), once(upstreamSide, 'close')])

  expect(await line(({ failure }) => failure !== undefined)).toMatchObject({ failure: 'client-gone' })
})

test('a client that ends its side and waits for nothing is held no longer than one that waits', async () => {
  const { port } = await bootPatient(hello, { defaults: { deadline: '50ms' } })
  const socket = dialHalfOpen(port)

  const response = readToEnd(socket)
  socket.end(get)
  socket.once('end', () => socket.destroy())

  expect(await response).toMatchObject({ status: 504, whole: true })
})

test.each([
  ['the beginning of another request', get, 'G'],
  ['a part of a body', get, post.slice(0, -1)],
])('a client that leaves with %s behind a request is noticed, and the request is canceled', async (_, first, rest) => {
  const { port, line, upstream } = await dialThrough(() => {})
  const socket = connect({ port, host: '127.0.0.1' })

  socket.write(first)
  await expect.poll(upstream.accepted).toBe(1)
  socket.write(rest, () => socket.destroy())

  expect(await line(({ operation, status }) => operation === 'market.insights' && status === 499)).toBeDefined()
})
