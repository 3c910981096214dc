/**
 * Serves as an upstream of a fixed capacity, as a process of its own: so many requests at once, each for so long;
 * what comes beyond waits in its queue, however long that gets. Prints its port. A server for the bench only.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { smallResponse } from './payloads.ts'

const [places = 0, serviceMs = 0] = process.argv.slice(2).map(Number)
const waiting: (() => void)[] = []
let busy = 0

const begin = (respond: () => void): void => {
  busy++
  setTimeout(() => {
    busy--
    respond()
    const next = waiting.shift()
    if (next !== undefined) next()
  }, serviceMs)
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume()
  const respond = (): void => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(smallResponse) })
    response.end(smallResponse)
  }
  if (busy < places) begin(respond)
  else waiting.push(() => begin(respond))
})

server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => console.log((server.address() as AddressInfo).port))
