/**
 * Takes whatever spans it is sent (OTLP/HTTP), as a process of its own, and looks at none. No receiver for anything but
 * the bench.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => response.writeHead(200, { 'Content-Length': 0 }).end())
})
// Longer than there is anything between two turns.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
