import type { IncomingMessage } from 'node:http'
import { duplexPair } from 'node:stream'
import type { Operation } from '../../catalog.ts'
import type { ListenConfig } from '../../config/config.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { Kind } from '../../failures/kinds.ts'
import { createServer } from '../../node-http.ts'
import { admit, routes } from '../../public/admit.ts'
import { readHead } from '../../public/head.ts'
import { anyHost, hosts, parseTarget } from '../../public/target.ts'

/** Is what the public listener makes of a method and a target. */
export type Arrival =
  | { readonly admitted: true; readonly operation: Operation; readonly query: string; readonly authority: string }
  | {
      readonly admitted: false
      readonly kind: Kind
      readonly allow: string | null
    }

/**
 * Asks the gateway's own parser and admission, without a socket, what they make of a method and a target; the rest of the request is as
 * plain as can be. Nothing is read a second way here.
 */
export const arrive = async (method: string, target: string, listen: ListenConfig): Promise<Arrival> => {
  const request = await parse(method, target, listen)
  if (request === 'tunnel') return { admitted: false, kind: 'method-not-allowed', allow: 'GET, POST' }
  if (request === 'malformed') return { admitted: false, kind: 'bad-request', allow: null }
  if (request === 'overflow') return { admitted: false, kind: 'uri-too-long', allow: null }
  const head = readHead(request.rawHeaders, null, false)
  const isOurs = target.startsWith('/') ? anyHost : hosts(listen) // a path alone does not say which name it is asked of
  const terms = { routes: routes(listen.basePath), isOurs, pseudonym: 'explain', secure: /^https:/i.test(target) }
  const asked = { ...request, originalUrl: request.url, target: parseTarget(request.url ?? '') }
  const admitted = admit({ request: asked, head, expects: 'none' }, listen, terms, null)
  if (!(admitted instanceof GatewayError)) return { admitted: true, ...admitted }
  return { admitted: false, kind: admitted.kind, allow: admitted.fields[1] ?? null }
}

/** Writes a target as it goes over the wire and as the gateway reads it: a byte a character. */
export const bytesOf = (target: string): string => Buffer.from(target).toString('latin1')

type Parsed = Pick<IncomingMessage, 'method' | 'url' | 'httpVersion' | 'rawHeaders'>

type Unparsed = 'tunnel' | 'malformed' | 'overflow'

const parse = (method: string, target: string, listen: ListenConfig): Promise<Parsed | Unparsed> => {
  if (/[\r\n]/.test(method + target)) return Promise.resolve('malformed') // it would end the line
  const [inside, outside] = duplexPair()
  const parsed = new Promise<Parsed | Unparsed>((resolve) => {
    // The bound of the listener's own parser (public/listener.ts); nothing here is long enough to meet it but the target.
    const maxHeaderSize = listen.maxTarget + listen.maxHeaders + 1024
    const server = createServer({ maxHeaderSize }, (request) => resolve(request))
    server.on('connect', () => resolve('tunnel'))
    server.on('clientError', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'HPE_HEADER_OVERFLOW' ? 'overflow' : 'malformed'),
    )
    inside.on('close', () => resolve('malformed'))
    server.emit('connection', inside)
    outside.end(`${method} ${bytesOf(target)} HTTP/1.1\r\nHost: gateway\r\n\r\n`, 'latin1')
  })
  return parsed.finally(() => inside.destroy())
}
