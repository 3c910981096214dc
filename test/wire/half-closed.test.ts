import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { makeCertificates } from '../helpers/certificates.ts'
import { bootGateway } from '../helpers/gateway.ts'
import { needProgram } from '../helpers/program.ts'
import { tlsHandshake } from '../helpers/tls-client.ts'
import { certificateEntry } from '../helpers/tls-gateway.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'
import { pseudoRandomBytes, readToEnd, renderHead, sha256 } from '../helpers/wire.ts'

const openssl = await needProgram('openssl')

const dialHalfOpen = (port: number): Socket => connect({ port, host: '127.0.0.1', allowHalfOpen: true })

const get = renderHead({ fields: ['Connection', 'keep-alive'] })
const post = `${renderHead({ method: 'POST', target: '/valuation/score', fields: ['Content-Length', '3'] })}abc`

/** Opens an upstream that answers no sooner than it is released. */
const patient = async (bytes: string) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, async () => {
      await promise
      socket.write(bytes)
    }),
  )
  return { url: upstream.url, answer: resolve }
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
    const upstream = await patient(said)
    const { port } = await bootGateway({ upstream: upstream.url })
    const socket = dialHalfOpen(port)

    const response = readToEnd(socket)
    socket.end(request)
    await once(socket, 'data') // of its response the first byte
    upstream.answer()
    socket.once('end', () => socket.destroy())

    expect(await response).toMatchObject({ version: '1.1', status, interim: [], whole: true })
  })

  test('whole, though it ends its side when the head has come', async () => {
    const body = pseudoRandomBytes(300_000)
    let goOn = () => {}
    const upstream = await rawUpstream((socket) =>
      onRequest(socket, () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`)
        socket.write(body.subarray(0, 1000))
        goOn = () => void socket.write(body.subarray(1000))
      }),
    )
    const { port } = await bootGateway({ upstream: upstream.url })
    const socket = dialHalfOpen(port)

    const response = readToEnd(socket)
    socket.write(get)
    await once(socket, 'data')
    socket.end(goOn)
    socket.once('end', () => socket.destroy())

    expect(await response).toMatchObject({ status: 200, whole: true, sha256: sha256(body) })
  })

  test('to each of the requests that it has sent', async () => {
    const upstream = await patient(hello)
    const { port } = await bootGateway({ upstream: upstream.url })
    const socket = dialHalfOpen(port)
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk
    })

    socket.end(get + get)
    await once(socket, 'data')
    upstream.answer()
    await once(socket, 'end')
    socket.destroy()

    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nhelloHTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nhello$/)
  })

  test.skipIf(openssl.missing).each(['TLSv1.2', 'TLSv1.3'] as const)('over %s, by close_notify', async (version) => {
    const { right } = makeCertificates(openssl.path ?? '')
    const upstream = await patient(hello)
    const { port } = await bootGateway({
      upstream: upstream.url,
      listen: { tls: { certificates: [certificateEntry(right)] } },
    })
    const { socket } = await tlsHandshake(port, {
      socket: dialHalfOpen(port),
      minVersion: version,
      maxVersion: version,
    })

    const response = readToEnd(socket)
    socket.end(get)
    await once(socket, 'data')
    upstream.answer()
    socket.once('end', () => socket.destroy())

    expect(await response).toMatchObject({ status: 200, whole: true })
  })
})

test.skipIf(openssl.missing)('a client that has closed cancels its call, over TLS too', async () => {
  const { right } = makeCertificates(openssl.path ?? '')
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const upstream = await rawUpstream((socket) => {
    socket.once('end', () => resolve()).once('close', () => resolve())
    onRequest(socket, () => ask())
  })
  const booted = await bootGateway({
    upstream: upstream.url,
    listen: { tls: { certificates: [certificateEntry(right)] } },
  })
  const { socket } = await tlsHandshake(booted.port)
  socket.write(get)
  await asked

  socket.destroy()
  await gone

  expect(await booted.line(({ failure }) => failure !== undefined)).toMatchObject({ failure: 'client-gone' })
})

test('a client that ends its side and waits for nothing holds no longer than one that waits', async () => {
  const upstream = await patient(hello)
  const { port } = await bootGateway({ upstream: upstream.url, defaults: { deadline: '50ms' } })
  const socket = dialHalfOpen(port)

  const response = readToEnd(socket)
  socket.end(get)
  socket.once('end', () => socket.destroy())

  expect(await response).toMatchObject({ status: 504, whole: true })
})

test.each([
  ['the beginning of another request', get, 'G'],
  ['a part of a body', get, post.slice(0, -1)],
])('a client that leaves with %s behind a request is noticed, and the request is cancelled', async (_, first, rest) => {
  const upstream = await rawUpstream((socket) => onRequest(socket, () => {}))
  const { port, line } = await bootGateway({ upstream: upstream.url })
  const socket = connect({ port, host: '127.0.0.1' })

  socket.write(first)
  await expect.poll(upstream.accepted).toBe(1)
  socket.write(rest, () => socket.destroy())

  expect(await line(({ operation, status }) => operation === 'market.insights' && status === 499)).toBeDefined()
})
