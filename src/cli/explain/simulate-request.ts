import type { IncomingMessage } from 'node:http'
import { duplexPair } from 'node:stream'
import type { ListenConfig } from '../../config/config.ts'
import { explainPathMismatch } from '../../config/path-mismatch.ts'
import { createRouteMap, validateAndRoute } from '../../downstream/request/match-request.ts'
import { parseRequestHead } from '../../downstream/request/request-head.ts'
import {
  compileAuthorityMatcher,
  isValidHost,
  matchAnyAuthority,
  parseRequestTarget,
} from '../../downstream/request/request-target.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { FailureKind } from '../../failures/kinds.ts'
import { createServer, METHODS } from '../../node-http.ts'
import { allOperations, type Operation } from '../../operations.ts'
import { formatSize } from '../../units.ts'

/** Says, for people, what is wrong with a request that is refused, and what was probably meant. */
export interface RejectionExplanation {
  readonly differs: readonly string[]
  readonly meant: Operation | null
  readonly hint: string
}

type RejectedRequest = Extract<SimulatedRequest, { admitted: false }>

/** Says why the gateway refuses a request; that it does, and with what, has been decided. `where` names a key and its line. */
export const explainRejection = (
  { kind }: RejectedRequest,
  method: string,
  target: string,
  listen: ListenConfig,
  locateKey: (key: string) => string,
): RejectionExplanation => {
  if (kind === 'uri-too-long') return explainTooLong(target, listen, locateKey)
  const path = extractPath(target)
  const known = createRouteMap(listen.basePath).get(path)
  const guess =
    known === undefined
      ? explainPathMismatch(path, { basePath: listen.basePath, baseKey: locateKey('listen.basePath') })
      : { differs: [], meant: known }
  const meant = method === 'CONNECT' || target === '*' ? null : guess.meant
  const differs = [
    ...explainMethod(method, meant),
    ...(kind === 'bad-request' ? explainTarget(target) : []),
    ...(kind === 'misdirected' ? [`its host is none of those in ${locateKey('listen.hosts')}`] : []),
    // Of a target that is no path at all, only what was meant is worth telling.
    ...(kind === 'not-found' || (target.startsWith('/') && meant !== null) ? guess.differs : []),
  ]
  const hint = meant === null ? 'send one of the nine' : `send ${meant.method} ${listen.basePath}${meant.path}`
  return { differs, meant, hint }
}

/** Lists what the gateway answers to, for a refusal that is near none of them. */
export const listOperations = (basePath: string): readonly string[] =>
  allOperations.map(({ method, path }) => `${method.padEnd(4)} ${basePath}${path}`)

const explainTooLong = (
  target: string,
  { maxTarget }: ListenConfig,
  locateKey: (key: string) => string,
): RejectionExplanation => ({
  differs: [
    `it has ${toLatin1(target).length} bytes, and at most ${formatSize(maxTarget)} are read: ${locateKey('listen.maxTarget')}`,
  ],
  meant: null,
  hint: 'send a shorter one, or raise listen.maxTarget (at most 64KiB)',
})

const explainMethod = (method: string, meant: Operation | null): readonly string[] => {
  if (METHODS.includes(method)) {
    if (method === 'CONNECT') return ['CONNECT asks for a tunnel, and there is none']
    if (meant === null || meant.method === method) return []
    return [`${meant.path} takes ${meant.method} and nothing else, not ${method}`]
  }
  const upper = method.toUpperCase()
  if (METHODS.includes(upper)) return [`methods are case-sensitive (RFC 9110 §9.1): ${method} is not ${upper}`]
  return ['the method is none that the parser knows']
}

const explainTarget = (target: string): readonly string[] => {
  const causes: string[] = []
  if (target.includes('#')) causes.push('"#" stands in it, and a fragment is never sent (RFC 9112 §3.2.1)')
  if (target.includes(' ')) causes.push('a blank stands in it, and must be escaped: %20')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  if (/[\0-\x1f\x7f]/.test(target)) causes.push('a control character stands in it')
  const [beyond] = /[^\0-\x7f]/u.exec(target) ?? []
  if (beyond !== undefined)
    causes.push(`"${beyond}" is beyond ASCII, and must be escaped: ${encodeURIComponent(beyond)}`)
  if (target === '*') causes.push('"*" asks about the server as a whole, which is none of the nine')
  else if (!target.startsWith('/')) causes.push(...explainTargetForm(target))
  return causes
}

/** Says what is wrong with a target that is not a path. */
const explainTargetForm = (target: string): readonly string[] => {
  const [, scheme = '', authority = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(target) ?? []
  if (scheme === '') return ['it begins with no slash']
  if (!/^https?$/i.test(scheme)) return [`${scheme}:// is not http:// or https://`]
  if (authority.includes('@')) return ['a user name or a password stands in it']
  return isValidHost(authority) ? [] : ['http:// is not followed by a host']
}

/** Finds the path in a target, also in one that the gateway does not read. */
const extractPath = (target: string): string => {
  const [line = ''] = target.trim().split(/[\r\n]| HTTP\//) // what follows would be another line, not a path
  const parsed = parseRequestTarget(toLatin1(line))
  if (parsed !== null) return parsed.path
  const [path = ''] = line.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split(/[?#]/)
  return path.startsWith('/') ? path : `/${path}`
}

/** Is what the public listener makes of a method and a target. */
export type SimulatedRequest =
  | { readonly admitted: true; readonly operation: Operation; readonly query: string; readonly authority: string }
  | {
      readonly admitted: false
      readonly kind: FailureKind
      readonly allow: string | null
    }

/**
 * Asks the gateway's own parser and admission, without a socket, what they make of a method and a target; the rest of the request is as
 * plain as can be. Nothing is read a second way here.
 */
export const simulateRequest = async (
  method: string,
  target: string,
  listen: ListenConfig,
): Promise<SimulatedRequest> => {
  const request = await parseRequest(method, target, listen)
  if (request === 'tunnel') return { admitted: false, kind: 'method-not-allowed', allow: 'GET, POST' }
  if (request === 'malformed') return { admitted: false, kind: 'bad-request', allow: null }
  if (request === 'overflow') return { admitted: false, kind: 'uri-too-long', allow: null }
  const head = parseRequestHead(request.rawHeaders, null, false)
  const matchesAuthority = target.startsWith('/') ? matchAnyAuthority : compileAuthorityMatcher(listen) // a path alone does not say which name it is asked of
  const options = {
    routes: createRouteMap(listen.basePath),
    matchesAuthority,
    pseudonym: 'explain',
    secure: /^https:/i.test(target),
  }
  const requestInit = { ...request, originalUrl: request.url, target: parseRequestTarget(request.url ?? '') }
  const admitted = validateAndRoute({ request: requestInit, head, expectation: 'none' }, listen, options, null)
  if (!(admitted instanceof GatewayError)) return { admitted: true, ...admitted }
  return { admitted: false, kind: admitted.kind, allow: admitted.fields[1] ?? null }
}

/** Writes a target as it goes over the wire and as the gateway reads it: a byte a character. */
export const toLatin1 = (target: string): string => Buffer.from(target).toString('latin1')

type ParsedRequestLine = Pick<IncomingMessage, 'method' | 'url' | 'httpVersion' | 'rawHeaders'>

type ParseFailure = 'tunnel' | 'malformed' | 'overflow'

const parseRequest = (
  method: string,
  target: string,
  listen: ListenConfig,
): Promise<ParsedRequestLine | ParseFailure> => {
  if (/[\r\n]/.test(method + target)) return Promise.resolve('malformed') // it would end the line
  const [inside, outside] = duplexPair()
  const parsed = new Promise<ParsedRequestLine | ParseFailure>((resolve) => {
    // The bound of the listener's own parser (downstream/http1/http1-server.ts); nothing here is long enough to meet it but the target.
    const maxHeaderSize = listen.maxTarget + listen.maxHeaders + 1024
    const server = createServer({ maxHeaderSize }, (request) => resolve(request))
    server.on('connect', () => resolve('tunnel'))
    server.on('clientError', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'HPE_HEADER_OVERFLOW' ? 'overflow' : 'malformed'),
    )
    inside.on('close', () => resolve('malformed'))
    server.emit('connection', inside)
    outside.end(`${method} ${toLatin1(target)} HTTP/1.1\r\nHost: gateway\r\n\r\n`, 'latin1')
  })
  return parsed.finally(() => inside.destroy())
}
