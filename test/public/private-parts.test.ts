import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parseNoMore } from '../../src/public/parse-no-more.ts'
import { rawClient } from '../helpers/raw.ts'
import { eventually } from '../helpers/wire.ts'

// What src/public uses of Node beyond its documentation. A release of Node that changes one of these fails here, by its name.

const serve = async (listener: RequestListener): Promise<number> => {
  const server = createServer(listener)
  onTestFinished(() => void server.close().closeAllConnections())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`

test('parser.onIncoming: no further request is made of a packet, nor of a later one, and the response due goes out', async () => {
  const taken: [IncomingMessage, ServerResponse][] = []
  const port = await serve((...both) => {
    taken.push(both)
    parseNoMore(both[0].socket)
  })
  const client = await rawClient(port)
  const packets = [get('/1') + get('/2'), get('/3')] as const

  client.send(packets[0])
  await eventually(() => taken.length === 1)
  client.send(packets[1])
  await eventually(() => taken[0]?.[0].socket.bytesRead === packets.join('').length)
  taken[0]?.[1].end('due')
  await client.until((received) => received.endsWith('due'))
  client.close()

  expect(taken.map(([{ url }]) => url)).toEqual(['/1'])
})
