/** An upstream that responds with as many bytes as the query says: `?bytes=200&body=SHA256`, or `?endless`. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pseudoRandomBytes } from '../../../test/helpers/wire.ts'
import { pour } from '../pour.ts'

export const mebibyte = 1024 * 1024

/** Bodies of requests and of responses are the beginning of this. */
export const material = pseudoRandomBytes(3 * mebibyte)

const endlessBytes = 1e12

/** Opens it. It responds with 422 to a request whose body has another hash than its query says. */
export const openUpstream = async () => {
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://upstream').searchParams
    if (!query.has('endless')) return respond(query, request, response)
    response.writeHead(200, { 'Content-Length': endlessBytes })
    pour(response, endlessBytes)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const respond = (query: URLSearchParams, request: IncomingMessage, response: ServerResponse): void => {
  const hash = createHash('sha256')
  request.on('error', () => {}) // an attacker has left
  request.on('data', (chunk: Buffer) => hash.update(chunk))
  request.on('end', () => {
    const expected = query.get('body')
    if (expected !== null && expected !== hash.digest('hex')) response.statusCode = 422
    response.end(material.subarray(0, Number(query.get('bytes'))))
  })
}
