import { createServer, type ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import type { Http1Response } from '../../../../src/core/downstream/http1/http1-response.ts'
import { serveHttp1 } from '../../../helpers/http1-server.ts'
import { listen } from '../../../helpers/listen.ts'
import { rawClient } from '../../../helpers/raw-client.ts'

/** Sends one request and returns all bytes that come back, with a fixed time in `Date`. */
const send = async (port: number, request: string): Promise<string> => {
  const client = await rawClient(port)
  client.send(request)
  await client.until((text) => text.includes('\r\n\r\n'))
  client.socket.end()
  const { received } = await client.ended()
  return received.replace(/\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT/, 'now')
}

type Write<Response> = (response: Response) => void
type Exchange<Response> = (request: string, write: Write<Response>) => Promise<string>

/** Opens a server that writes each response as the caller says; returns a function that sends a request. */
const openResponseServer = async <Response = Http1Response>(
  serve = (respond: Write<never>): Promise<number> =>
    serveHttp1((_, response) => respond(response as never), { listen: { timeouts: { keepAlive: '72500ms' } } }),
): Promise<Exchange<Response>> => {
  let write: Write<Response> = () => {}
  const port = await serve((response) => write(response))
  return (request, next) => {
    write = next
    return send(port, request)
  }
}

/** The same by Node's own server. */
const openNode = () =>
  openResponseServer<ServerResponse>(async (respond) => {
    const server = createServer({ keepAliveTimeout: 72_500 }, (_, response) => respond(response as never))
    return listen(server)
  })

const requests = {
  'HTTP/1.1': 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  'HTTP/1.1 with close': 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  'HTTP/1.0': 'GET / HTTP/1.0\r\n\r\n',
  'HTTP/1.0 with keep-alive': 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  HEAD: 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n',
}

const length = ['Content-Length', '4']
const date = ['Date', 'Tue, 15 Nov 1994 08:12:31 GMT']

const heads: readonly (readonly [status: number, phrase: string, fields: readonly string[]])[] = [
  [200, 'OK', ['Content-Type', 'text/plain', ...length, 'ETag', '"a"']],
  [200, 'OK', ['Content-Type', 'text/plain']],
  [200, 'OK', []],
  [200, 'OK', ['A', '1', ...date, ...length, 'B', '2']],
  [200, 'OK', ['Set-Cookie', 'a=1', ...length, 'set-cookie', 'b=2', 'Set-Cookie', 'a=1', 'X-Empty', '']],
  [200, 'OK', ['X-Name', 'caf\xe9 \xff\x80', ...length]],
  [404, '', length],
  [299, '', length],
  [200, 'Fine, thanks', length],
  [200, 'Tr\xe8s bien', length],
  [304, '', [...length, 'ETag', '"a"']],
  [205, '', length],
  [999, 'Odd', length],
]

test.each(Object.entries(requests))('each head to %s goes out as Node writes it', async (name, request) => {
  const [exchange, exchangeByNode] = [await openResponseServer(), await openNode()]
  const cases = heads.slice(0, name === 'HTTP/1.1' ? undefined : 4)

  for (const [status, phrase, fields] of cases) {
    const actual = await exchange(request, (response) => {
      response.writeFields(status, phrase, fields)
      response.end('body')
    })
    const expected = await exchangeByNode(request, (response) => {
      if (phrase === '') response.writeHead(status, [...fields])
      else response.writeHead(status, phrase, [...fields])
      response.end('body', 'latin1')
    })

    expect(actual).toBe(expected)
    expect(actual).toContain(`HTTP/1.1 ${status} `)
  }
})

// Node ends a connection of HTTP/1.0 at these statuses. They have no body, so nothing has to end it (RFC 9112 §6.3).
test.each(Object.entries(requests))(
  'a response without content to %s has no length, and ends no connection',
  async (name, request) => {
    const exchange = await openResponseServer()
    const ends = name === 'HTTP/1.0' || name.endsWith('close')
    const connection = ends ? 'Connection: close' : 'Connection: keep-alive\r\nKeep-Alive: timeout=72'

    for (const [status, phrase] of Object.entries({ 204: 'No Content', 304: 'Not Modified' })) {
      const actual = await exchange(request, (response) => {
        response.writeFields(Number(status), '', ['X-A', '1'])
        response.end('body')
      })

      expect(actual).toBe(`HTTP/1.1 ${status} ${phrase}\r\nX-A: 1\r\nDate: now\r\n${connection}\r\n\r\n`)
    }
  },
)

test.each(Object.entries(requests))('the last response to %s announces it as Node does', async (_name, request) => {
  const [exchange, exchangeByNode] = [await openResponseServer(), await openNode()]

  for (const fields of [[...length, 'X-Last', '1'], ['X-Last', '1'], date]) {
    const actual = await exchange(request, (response) => {
      response.isLast = true
      response.writeFields(200, '', fields)
      response.end('body')
    })
    const expected = await exchangeByNode(request, (response) => {
      response.writeHead(200, [...fields, 'Connection', 'close'])
      response.end('body')
    })

    expect(actual).toBe(expected)
    expect(actual).toContain('\r\nConnection: close\r\n')
  }
})

test.each(['caf\xc3\xa9', 'caf\xe9'])('the bytes of Content-Disposition behind a length stay: %j', async (name) => {
  const received = await (await openResponseServer())(requests['HTTP/1.1'], (response) => {
    response.writeFields(200, '', [...length, 'Content-Disposition', `attachment; filename="${name}"`])
    response.end('body')
  })

  expect(received).toContain(`\r\nContent-Disposition: attachment; filename="${name}"\r\n`)
})

test.each([
  ['a line end in a value', 200, '', ['X-A', 'b\r\nX-C: d']],
  ['a line feed in a value', 200, '', ['X-A', 'b\n']],
  ['a control character in a value', 200, '', ['X-A', 'b\x01']],
  ['DEL in a value', 200, '', ['X-A', 'b\x7f']],
  ['a character that is no byte', 200, '', ['X-A', '€']],
  ['a space in a name', 200, '', ['X A', 'b']],
  ['a colon in a name', 200, '', ['X-A: b\r\nX-C', 'd']],
  ['no name', 200, '', ['', 'b']],
  ['a line end in the phrase', 200, 'OK\r\nX-C: d', []],
  ['a line end in a value behind a date', 200, '', [...date, 'X-A', 'b\r\nX-C: d']],
  ['a line end in a length', 200, '', ['Content-Length', '4\r\nX-C: d']],
  ['a status below 100', 99, '', []],
] as const)('%s is rejected, and another head can be written', async (_what, status, phrase, fields) => {
  const thrown: unknown[] = []

  const received = await (await openResponseServer())(requests['HTTP/1.1'], (response) => {
    try {
      response.writeFields(status, phrase, fields)
    } catch (error) {
      thrown.push(error)
    }
    response.writeFields(502, 'Bad Gateway', ['X-Of', 'the gateway', ...length])
    response.end('body')
  })

  expect(thrown).toHaveLength(1)
  expect(received).toMatch(
    /^HTTP\/1\.1 502 Bad Gateway\r\nX-Of: the gateway\r\nContent-Length: 4\r\nDate: now\r\nConnection: /,
  )
})

test('bytes that were sent ahead of a head are not sent again, and no interim response comes between', async () => {
  const received = await (await openResponseServer())(requests['HTTP/1.1'], (response) => {
    response.request.socket.write('HTTP/')
    response.charsSentAhead = 5
    response.writeContinue(() => {})
    response.writeFields(200, '', length)
    response.end('body')
  })

  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Length: 4\r\n/)
})
