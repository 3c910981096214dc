import { describe, expect, test } from 'vitest'
import { bootGateway, gatewayForAll } from '../helpers/gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'

// The attack: what ends a line for one hop and not for another. Behind it stands a field that no hop has checked.
const injected = 'X-Injected: 1'
const breaks: readonly [name: string, bytes: string][] = [
  ['CR', '\r'],
  ['LF', '\n'],
  ['NUL', '\0'],
  ['a folded line', '\r\n '],
  ['a line folded with a tab', '\r\n\t'],
]

const site = gatewayForAll()

describe.each(breaks)('%s in a request', (_, bytes) => {
  const evil = `${bytes}${injected}`
  test.each([
    ['the method', `GET${evil} /market/insights HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['the path', `GET /market/insights${evil} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['the query', `GET /market/insights?a${evil} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['the version', `GET /market/insights HTTP/1.1${evil}\r\nHost: a\r\n\r\n`],
    ['Host', `GET /market/insights HTTP/1.1\r\nHost: a${evil}\r\n\r\n`],
    ['a name', `GET /market/insights HTTP/1.1\r\nHost: a\r\nX-A${evil}: b\r\n\r\n`],
    ['a value', `GET /market/insights HTTP/1.1\r\nHost: a\r\nX-A: b${evil}\r\n\r\n`],
    ['the request id', `GET /market/insights HTTP/1.1\r\nHost: a\r\nX-Request-Id: b${evil}\r\n\r\n`],
  ])('in %s is rejected, and nothing is forwarded', async (_, request) => {
    const before = site.upstream.begun()
    const client = await rawClient(site.port)

    client.send(request)
    const { received } = await client.ended()

    expect([400, 505]).toContain(parseStatus(received)) // a line that ends before its version is one of HTTP/0.9
    expect(received).not.toMatch(/^X-Injected/im)
    expect(site.upstream.begun()).toBe(before)
  })
})

describe('in a response', () => {
  const responses = breaks.flatMap(([name, bytes]) => {
    const evil = `${bytes}${injected}`
    return [
      [name, 'the reason', `HTTP/1.1 200 OK${evil}\r\nContent-Length: 2\r\n\r\nok`],
      [name, 'a name', `HTTP/1.1 200 OK\r\nX-A${evil}: b\r\nContent-Length: 2\r\n\r\nok`],
      [name, 'a value', `HTTP/1.1 200 OK\r\nX-A: b${evil}\r\nContent-Length: 2\r\n\r\nok`],
      [
        ...[name, 'a field of an interim response'],
        `HTTP/1.1 103 Early Hints\r\nX-A: b${evil}\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
      ],
    ] as const
  })

  test('it becomes no field of the client’s', async () => {
    const evilUpstream = await rawUpstream((socket) =>
      onRequest(socket, (head) => void socket.write(responses[Number(/\?(\d+)/.exec(head)?.[1])]?.[2] ?? '', 'latin1')),
    )
    const { port } = await bootGateway({ upstream: evilUpstream.url, listen: { interim: 'relay' } })

    for (const [nth, [name, where]] of responses.entries()) {
      const request = `GET /market/insights?${nth} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
      const received = await exchangeRaw(port, request)
      const status = parseStatus(received.replace(/^HTTP\/1\.1 103[\s\S]*?\r\n\r\n/, ''))

      expect([name, where, status]).toEqual([name, where, expect.toBeOneOf([200, 502])])
      expect(received).not.toMatch(/[\r\n\0][ \t]*X-Injected/i)
    }
  })
})
