/**
 * Responds to every request with a few bytes and keeps the connection: what Node's own server takes of memory for a
 * connection.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const server = createServer({ keepAliveTimeout: 600_000 }, (_, response) => response.end('{"id":1}'))
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ msg: 'listening', port: (server.address() as AddressInfo).port }))
})
