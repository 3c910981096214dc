import { createServer, type IncomingMessage } from 'node:http'
import { duplexPair } from 'node:stream'
import type { Operation } from '../../catalog.ts'
import type { ListenConfig } from '../../config/config.ts'
import type { Kind } from '../../errors.ts'
import { admit } from '../../public/admit.ts'
import { readHead } from '../../public/head.ts'
import { routes } from '../../public/routes.ts'

/** Is what the public listener makes of a method and a target. */
export type Arrival =
  | { readonly admitted: true; readonly operation: Operation; readonly query: string; readonly authority: string }
  | {
      readonly admitted: false
      readonly kind: Kind
      readonly allow: string | null
      /** What found it: Node's parser, before there is a request, or the gateway's own admission. */
      readonly by: 'parser' | 'admission'
    }

/**
 * Asks the gateway's own parser and admission, without a socket, what they make of a method and a target; the rest of the request is as
 * plain as can be. Nothing is read a second way here.
 */
export const arrive = async (method: string, target: string, listen: ListenConfig): Promise<Arrival> => {
  const request = await parse(method, target)
  if (request === 'tunnel') return { admitted: false, kind: 'method-not-allowed', allow: 'GET, POST', by: 'parser' }
  if (request === 'malformed') {
    // The listener tells a long target by the same bound when its parser gave up (public/stray.ts).
    const kind = bytesOf(target).length > listen.maxTargetBytes ? 'uri-too-long' : 'bad-request'
    return { admitted: false, kind, allow: null, by: 'parser' }
  }
  const head = readHead(request.rawHeaders, null, false)
  const admitted = admit(request, head, routes(listen.basePath), listen, 'explain')
  if (!('kind' in admitted)) return { admitted: true, ...admitted }
  return { admitted: false, kind: admitted.kind, allow: admitted.fields[1] ?? null, by: 'admission' }
}

/** Writes a target as it goes over the wire and as the gateway reads it: a byte a character. */
export const bytesOf = (target: string): string => Buffer.from(target).toString('latin1')

type Parsed = Pick<IncomingMessage, 'method' | 'url' | 'httpVersion' | 'rawHeaders'>

// Larger than any bound of a target: whether it is too long is for the admission to say.
const maxHeaderSize = 2 * 1024 ** 2

const parse = (method: string, target: string): Promise<Parsed | 'tunnel' | 'malformed'> => {
  if (/[\r\n]/.test(method + target)) return Promise.resolve('malformed') // it would end the line
  const [inside, outside] = duplexPair()
  const parsed = new Promise<Parsed | 'tunnel' | 'malformed'>((resolve) => {
    const server = createServer({ maxHeaderSize }, (request) => resolve(request))
    server.on('connect', () => resolve('tunnel'))
    server.on('clientError', () => resolve('malformed'))
    inside.on('close', () => resolve('malformed'))
    server.emit('connection', inside)
    outside.end(`${method} ${bytesOf(target)} HTTP/1.1\r\nHost: gateway\r\n\r\n`, 'latin1')
  })
  return parsed.finally(() => inside.destroy())
}
