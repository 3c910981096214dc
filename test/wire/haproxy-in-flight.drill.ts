/** What a client behind a real HAProxy gets of a POST that was in flight when its gateway was killed. */
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startHaproxy } from '../helpers/haproxy.ts'
import { needProgram } from '../helpers/program.ts'
import { isWholeResponse, parseStatus, rawClient } from '../helpers/raw-client.ts'

const haproxy = await needProgram('haproxy')
const compose = readFileSync(new URL('../../config/examples/compose/haproxy/haproxy.cfg', import.meta.url), 'utf8')

/** Opens a server that answers every GET and is killed by every POST: its connection ends without a byte. */
const openMortal = async (): Promise<number> => {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      if (bytes.toString('latin1').startsWith('POST')) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

describe.skipIf(haproxy.missing)('by the lines of the Compose example, a POST in flight', () => {
  const boot = async () => {
    const lines = (/^backend .*/ms.exec(compose)?.[0] ?? '')
      .replace(/^ +(option httpchk|http-check|timeout check|default-server).*\n/gm, '')
      .replace('gateway-a:8080 port 9901', `127.0.0.1:${await openMortal()}`)
      .replace('gateway-b:8080 port 9901', `127.0.0.1:${await openMortal()}`)
    const balancer = await startHaproxy(haproxy.path ?? '', lines)
    onTestFinished(() => balancer.stop())
    const client = await rawClient(balancer.port)
    onTestFinished(() => client.close())
    return client
  }
  const post = 'POST /valuation/score HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'

  test('that is the first request of its connection gets 502', async () => {
    const client = await boot()

    client.send(post)
    const received = await client.until(isWholeResponse)

    expect(parseStatus(String(received))).toBe(502)
  })

  test('that is a later one gets no byte: HAProxy closes the connection', async () => {
    const client = await boot()
    client.send('GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n')
    await client.until((text) => text.endsWith('ok'))

    client.send(post)
    const { received } = await client.ended()

    expect(received.slice(received.indexOf('\r\n\r\nok') + 6)).toBe('')
  })
})
