import { expect, onTestFinished, test } from 'vitest'
import { makeCertificates } from '../../helpers/certificates.ts'
import { needProgram } from '../../helpers/program.ts'
import { tlsHandshake } from '../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../helpers/tls-gateway.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { renderHead } from '../../helpers/wire.ts'

const openssl = await needProgram('openssl')

const mebibyte = 1024 * 1024
const clients = 40

// The attack: many ask over TLS for what is stored, and read none of it. In memory it stands but once; encrypted it
// would stand there for each of them.
test.skipIf(openssl.missing)('clients that do not read what is stored take no copies of it', async () => {
  const { right } = makeCertificates(openssl.path ?? '')
  const body = Buffer.alloc(8 * mebibyte, 'a')
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Cache-Control', 'max-age=60', 'Content-Length', String(body.length)])
    response.end(body)
  })
  const cache = { maxEntry: '16MiB' }
  const { port } = await bootTlsGateway(
    right,
    {},
    { upstream: upstream.url, operations: { 'market.insights': { cache } } },
  )
  const ask = async () => {
    const { socket } = await tlsHandshake(port)
    onTestFinished(() => void socket.destroy())
    socket.write(renderHead({}))
    return socket
  }
  const first = await ask()
  let bytes = 0
  for await (const chunk of first) bytes += (chunk as Buffer).length
  const before = process.memoryUsage().rss

  const begun = await Promise.all(Array.from({ length: clients }, ask))
  await Promise.all(begun.map((socket) => new Promise((resolve) => socket.once('readable', resolve))))

  expect(bytes).toBeGreaterThan(body.length)
  expect(upstream.begun()).toBe(1)
  expect(process.memoryUsage().rss - before).toBeLessThan(160 * mebibyte) // copies would be 320
})
