import type { IncomingMessage } from 'node:http'
import { duplexPair } from 'node:stream'
import { catalog, type Operation } from '../../catalog.ts'
import type { ListenConfig } from '../../config/config.ts'
import { differenceOf } from '../../config/differs.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { Kind } from '../../failures/kinds.ts'
import { createServer, METHODS } from '../../node-http.ts'
import { admit, routes } from '../../public/admit.ts'
import { readHead } from '../../public/head.ts'
import { anyHost, hosts, isHost, parseTarget } from '../../public/target.ts'
import { formatSize } from '../../units.ts'

/** Says, for people, what is wrong with a request that is refused, and what was probably meant. */
export interface Reason {
  readonly differs: readonly string[]
  readonly meant: Operation | null
  readonly hint: string
}

type Refused = Extract<Arrival, { admitted: false }>

/** Says why the gateway refuses a request; that it does, and with what, has been decided. `where` names a key and its line. */
export const reasonOf = (
  { kind }: Refused,
  method: string,
  target: string,
  listen: ListenConfig,
  where: (key: string) => string,
): Reason => {
  if (kind === 'uri-too-long') return tooLong(target, listen, where)
  const path = pathOf(target)
  const known = routes(listen.basePath).get(path)
  const guess =
    known === undefined
      ? differenceOf(path, { basePath: listen.basePath, baseKey: where('listen.basePath') })
      : { differs: [], meant: known }
  const meant = method === 'CONNECT' || target === '*' ? null : guess.meant
  const differs = [
    ...methodSaid(method, meant),
    ...(kind === 'bad-request' ? targetSaid(target) : []),
    ...(kind === 'misdirected' ? [`its host is none of those in ${where('listen.hosts')}`] : []),
    // Of a target that is no path at all, only what was meant is worth telling.
    ...(kind === 'not-found' || (target.startsWith('/') && meant !== null) ? guess.differs : []),
  ]
  const hint = meant === null ? 'send one of the nine' : `send ${meant.method} ${listen.basePath}${meant.path}`
  return { differs, meant, hint }
}

/** Lists what the gateway answers to, for a refusal that is near none of them. */
export const theNine = (basePath: string): readonly string[] =>
  catalog.map(({ method, path }) => `${method.padEnd(4)} ${basePath}${path}`)

const tooLong = (target: string, { maxTarget }: ListenConfig, where: (key: string) => string): Reason => ({
  differs: [
    `it has ${bytesOf(target).length} bytes, and at most ${formatSize(maxTarget)} are read: ${where('listen.maxTarget')}`,
  ],
  meant: null,
  hint: 'send a shorter one, or raise listen.maxTarget (at most 64KiB)',
})

const methodSaid = (method: string, meant: Operation | null): readonly string[] => {
  if (METHODS.includes(method)) {
    if (method === 'CONNECT') return ['CONNECT asks for a tunnel, and there is none']
    if (meant === null || meant.method === method) return []
    return [`${meant.path} takes ${meant.method} and nothing else, not ${method}`]
  }
  const upper = method.toUpperCase()
  if (METHODS.includes(upper)) return [`methods are case-sensitive (RFC 9110 §9.1): ${method} is not ${upper}`]
  return ['the method is none that the parser knows']
}

const targetSaid = (target: string): readonly string[] => {
  const said: string[] = []
  if (target.includes('#')) said.push('"#" stands in it, and a fragment is never sent (RFC 9112 §3.2.1)')
  if (target.includes(' ')) said.push('a blank stands in it, and must be escaped: %20')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  if (/[\0-\x1f\x7f]/.test(target)) said.push('a control character stands in it')
  const [beyond] = /[^\0-\x7f]/u.exec(target) ?? []
  if (beyond !== undefined) said.push(`"${beyond}" is beyond ASCII, and must be escaped: ${encodeURIComponent(beyond)}`)
  if (target === '*') said.push('"*" asks about the server as a whole, which is none of the nine')
  else if (!target.startsWith('/')) said.push(...formSaid(target))
  return said
}

/** Says what is wrong with a target that is not a path. */
const formSaid = (target: string): readonly string[] => {
  const [, scheme = '', authority = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(target) ?? []
  if (scheme === '') return ['it begins with no slash']
  if (!/^https?$/i.test(scheme)) return [`${scheme}:// is not http:// or https://`]
  if (authority.includes('@')) return ['a user name or a password stands in it']
  return isHost(authority) ? [] : ['http:// is not followed by a host']
}

/** Finds the path in a target, also in one that the gateway does not read. */
const pathOf = (target: string): string => {
  const [line = ''] = target.trim().split(/[\r\n]| HTTP\//) // what follows would be another line, not a path
  const parsed = parseTarget(bytesOf(line))
  if (parsed !== null) return parsed.path
  const [path = ''] = line.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split(/[?#]/)
  return path.startsWith('/') ? path : `/${path}`
}

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
