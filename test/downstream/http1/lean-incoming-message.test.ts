import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { LeanIncomingMessage } from '../../../src/downstream/http1/lean-incoming-message.ts'

type Serve = (request: LeanIncomingMessage, response: ServerResponse) => void

/** Sends bytes to a server with lean requests, and returns what comes back until `responses` times OK. */
const exchange = async (serve: Serve, bytes: readonly string[], responses: number): Promise<string> => {
  const server = createServer({ IncomingMessage: LeanIncomingMessage, requireHostHeader: false }, serve)
  onTestFinished(() => void server.close().closeAllConnections())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let received = ''
  for (const chunk of bytes) socket.write(chunk)
  for await (const chunk of socket) {
    received += chunk
    if (received.split('200 OK').length > responses) break
  }
  return received
}

const post = (body: string): string => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`

test('a body is consumed directly in its chunks, and the connection goes on', async () => {
  const bodies: string[] = []
  const serve: Serve = (request, response) => {
    let body = ''
    request.consumeDirectly((chunk) => {
      if (chunk !== null) body += chunk
      else if (bodies.push(body) > 0) response.end()
    })
  }

  await exchange(serve, [post('first'), post('second').slice(0, -3), 'ond'], 2)

  expect(bodies).toEqual(['first', 'second'])
})

test('the end of a request consumed directly is emitted, and it counts as read', async () => {
  const ended: boolean[] = []
  const serve: Serve = (request, response) => {
    request.once('end', () => ended.push(request.readableEnded))
    request.consumeDirectly((chunk) => void (chunk === null && response.end()))
  }

  await exchange(serve, [post('body')], 1)

  expect(ended).toEqual([true])
})

test('a body of which some is in the stream already stays there', async () => {
  const results: (boolean | string)[] = []
  const serve: Serve = (request, response) => {
    // After the parser has passed on what came with the head.
    setImmediate(async () => {
      results.push(request.consumeDirectly(() => {}))
      for await (const chunk of request) results.push(String(chunk))
      response.end()
    })
  }

  await exchange(serve, [post('body')], 1)

  expect(results).toEqual([false, 'body'])
})
