/** An upstream most of whose responses can be stored. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  bytesOf,
  isAskedAbout,
  isBroken,
  isChunked,
  isShortLived,
  isStillValid,
  isStorable,
  type Language,
  nthOf,
  target,
  varies,
} from './stock.ts'

const contents = Buffer.alloc(1024 * 1024, 'x')

/** Opens it. */
export const openUpstream = async (): Promise<{ readonly port: number; close(): void }> => {
  const server = createServer(serve).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const serve = (request: IncomingMessage, response: ServerResponse): void => {
  const nth = nthOf(request.url ?? '')
  if (request.method === 'POST') {
    request.resume()
    response.writeHead(201, { Location: target(nth) }).end()
    return
  }
  const language = (request.headers['accept-language'] ?? 'de') as Language
  const tag = `"${nth}${varies(nth) ? language : ''}"`
  response.setHeader('ETag', tag)
  response.setHeader('Cache-Control', !isStorable(nth) && !isBroken(nth) ? 'no-store' : freshness(nth))
  if (varies(nth)) response.setHeader('Vary', 'Accept-Language')
  if (request.headers['if-none-match'] === tag && isStillValid(nth)) return void response.writeHead(304).end()
  const body = contents.subarray(0, bytesOf({ nth, language }))
  if (!isChunked(nth)) response.setHeader('Content-Length', body.length)
  if (isBroken(nth)) return void response.write(body.subarray(0, body.length / 2), () => response.destroy())
  const half = body.length >> 1
  response.write(body.subarray(0, half))
  response.end(body.subarray(half))
}

const freshness = (nth: number): string => {
  if (isShortLived(nth)) return 'max-age=1, stale-while-revalidate=3600'
  return isAskedAbout(nth) ? 'max-age=1' : 'max-age=3600'
}
