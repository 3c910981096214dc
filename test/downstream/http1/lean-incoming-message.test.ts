import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { LeanIncomingMessage } from '../../../src/downstream/http1/lean-incoming-message.ts'

type Serve = (request: LeanIncomingMessage, response: ServerResponse) => void

/** Sends bytes to a server whose requests are arrivals, and tells what comes back until it has been `answers` times OK. */
const exchange = async (serve: Serve, bytes: readonly string[], answers: number): Promise<string> => {
  const server = createServer({ IncomingMessage: LeanIncomingMessage, requireHostHeader: false }, serve)
  onTestFinished(() => void server.close().closeAllConnections())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let heard = ''
  for (const piece of bytes) socket.write(piece)
  for await (const chunk of socket) {
    heard += chunk
    if (heard.split('200 OK').length > answers) break
  }
  return heard
}

const post = (body: string): string => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`

test('a body is handed over in its pieces, and the connection goes on', async () => {
  const taken: string[] = []
  const serve: Serve = (request, response) => {
    let body = ''
    request.consumeDirectly((chunk) => {
      if (chunk !== null) body += chunk
      else if (taken.push(body) > 0) response.end()
    })
  }

  await exchange(serve, [post('first'), post('second').slice(0, -3), 'ond'], 2)

  expect(taken).toEqual(['first', 'second'])
})

test('whoever waits for the end of a request hears it, and it counts as read', async () => {
  const ended: boolean[] = []
  const serve: Serve = (request, response) => {
    request.once('end', () => ended.push(request.readableEnded))
    request.consumeDirectly((chunk) => void (chunk === null && response.end()))
  }

  await exchange(serve, [post('body')], 1)

  expect(ended).toEqual([true])
})

test('a body of which some is in the stream already stays there', async () => {
  const said: (boolean | string)[] = []
  const serve: Serve = (request, response) => {
    // After the parser has handed on what came with the head.
    setImmediate(async () => {
      said.push(request.consumeDirectly(() => {}))
      for await (const chunk of request) said.push(String(chunk))
      response.end()
    })
  }

  await exchange(serve, [post('body')], 1)

  expect(said).toEqual([false, 'body'])
})
