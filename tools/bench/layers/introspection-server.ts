/**
 * Serves every introspection request an active token (RFC 7662), as a process of its own. A server for the bench
 * only.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const dayS = 24 * 60 * 60

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('latin1')
  request.on('data', (chunk: string) => {
    body += chunk
  })
  request.on('end', () => {
    const now = Math.floor(Date.now() / 1000)
    const active = new URLSearchParams(body).has('token')
    const said = JSON.stringify({ active, client_id: 'bank-a', sub: 'robot', iat: now, exp: now + dayS })
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': said.length }).end(said)
  })
})
// Longer than there is anything between two turns.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
