/**
 * Serves the nine by Node's own server, and what was marked as storable from a Map with no policy at all: what a cache
 * that stands on this server cannot go below. A server for the bench only.
 */
import { Agent, request as ask, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { allOperations } from '../../../src/operations.ts'
import { storableMark } from '../payloads.ts'
import { makeLogger } from './node-log.ts'

const [port, upstreamPort, log] = process.argv.slice(2)
const logger = makeLogger(log)
const agent = new Agent({ keepAlive: true, maxSockets: 128 })
const nine = new Map<string, string>(allOperations.map(({ id, method, path }) => [`${method} ${path}`, id]))

interface Stored {
  readonly fields: string[]
  readonly body: Buffer
}
const stored = new Map<string, Stored>()

const respond = (response: ServerResponse, { fields, body }: Stored): void => {
  response.writeHead(200, fields)
  // As the gateway does: what is small goes out with the head in one piece.
  if (body.length <= 8 * 1024) response.end(body.toString('latin1'), 'latin1')
  else response.end(body)
}

const forward = (request: IncomingMessage, response: ServerResponse): void => {
  const { method, url, headers } = request
  const asked = ask({ port: upstreamPort, agent, method, path: url, headers }, async (came) => {
    const body = Buffer.concat(await came.toArray())
    const made = { fields: came.rawHeaders, body }
    if (url?.includes(storableMark)) stored.set(url, made)
    respond(response, made)
  })
  request.pipe(asked)
}

createServer((request, response) => {
  const { method, url = '' } = request
  const end = url.indexOf('?')
  const operation = nine.get(`${method} ${end < 0 ? url : url.slice(0, end)}`)
  if (operation === undefined) return response.writeHead(404).end()
  response.on('finish', () =>
    logger.info({ client: request.socket.remoteAddress, operation, status: response.statusCode }, 'exchange'),
  )
  const found = stored.get(url)
  return found === undefined ? forward(request, response) : respond(response, found)
}).listen(Number(port), '127.0.0.1')
