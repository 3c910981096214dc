import { expect, test } from 'vitest'
import { bootGateway, gatewayForAll } from '../helpers/gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'

// The attack: what ends a line for one hop and not for another. Behind it stands a field that no hop has checked.
const evils = ['\r', '\n', '\0', '\r\n ', '\r\n\t'].map((bytes) => `${bytes}X-Injected: 1`)

const site = gatewayForAll()

test.each<[string, (evil: string) => string]>([
  ['the method', (evil) => `GET${evil} /market/insights HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['the path', (evil) => `GET /market/insights${evil} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['the version', (evil) => `GET /market/insights HTTP/1.1${evil}\r\nHost: a\r\n\r\n`],
  ['Host', (evil) => `GET /market/insights HTTP/1.1\r\nHost: a${evil}\r\n\r\n`],
  ['a name', (evil) => `GET /market/insights HTTP/1.1\r\nHost: a\r\nX-A${evil}: b\r\n\r\n`],
  ['a value', (evil) => `GET /market/insights HTTP/1.1\r\nHost: a\r\nX-A: b${evil}\r\n\r\n`],
])('in %s of a request it is rejected, and nothing is forwarded', async (_, toRequest) => {
  for (const evil of evils) {
    const client = await rawClient(site.port)
    client.send(toRequest(evil))
    const { received } = await client.ended()

    // A line that ends before its version is one of HTTP/0.9.
    expect([evil, parseStatus(received)]).toEqual([evil, expect.toBeOneOf([400, 505])])
    expect(received).not.toMatch(/^X-Injected/im)
  }
  expect(site.upstream.begun()).toBe(0)
})

test('in a response it becomes no field of the client’s', async () => {
  const rest = 'Content-Length: 2\r\n\r\nok'
  const responses = evils.flatMap((evil) => [
    `HTTP/1.1 200 OK${evil}\r\n${rest}`,
    `HTTP/1.1 200 OK\r\nX-A${evil}: b\r\n${rest}`,
    `HTTP/1.1 200 OK\r\nX-A: b${evil}\r\n${rest}`,
    `HTTP/1.1 103 Early Hints\r\nX-A: b${evil}\r\n\r\nHTTP/1.1 200 OK\r\n${rest}`,
  ])
  const evilUpstream = await rawUpstream((socket) =>
    onRequest(socket, (head) => void socket.write(responses[Number(/\?(\d+)/.exec(head)?.[1])] ?? '', 'latin1')),
  )
  const { port } = await bootGateway({ upstream: evilUpstream.url, listen: { interim: 'relay' } })

  for (const [nth, response] of responses.entries()) {
    const received = await exchangeRaw(
      port,
      `GET /market/insights?${nth} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    )
    const status = parseStatus(received.replace(/^HTTP\/1\.1 103[\s\S]*?\r\n\r\n/, ''))

    expect([response, status]).toEqual([response, expect.toBeOneOf([200, 502])])
    expect(received).not.toMatch(/[\r\n\0][ \t]*X-Injected/i)
  }
})
