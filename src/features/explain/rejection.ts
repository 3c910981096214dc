import type { ListenConfig } from '../../core/config/config.ts'
import { explainPathMismatch } from '../../core/config/suggest.ts'
import { rejectTunnel } from '../../core/downstream/http1/request-line.ts'
import { getRequestLimits, type RequestMessage, RequestParser } from '../../core/downstream/http1/request-parser.ts'
import { parseRequestHead } from '../../core/downstream/request/request-head.ts'
import {
  compileAuthorityMatcher,
  isValidHost,
  matchAnyAuthority,
  operationsByPath,
  parseRequestTarget,
  toRoutablePath,
  validateRequest,
} from '../../core/downstream/request/validate-request.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import type { FailureKind } from '../../core/exchange/failures/failure-table.ts'
import { knownMethods } from '../../core/exchange/node-http.ts'
import { formatSize } from '../../core/lib/text/units.ts'
import { allOperations, type Operation } from '../../operations.ts'

type SimulatedRequest =
  | { readonly admitted: true; readonly operation: Operation; readonly query: string; readonly authority: string }
  | { readonly admitted: false; readonly kind: FailureKind; readonly allow: string | null }

/** By the gateway's own parser, without a socket: another parser could decide otherwise. */
export const simulateRequest = (method: string, target: string, listen: ListenConfig): SimulatedRequest => {
  const message = parseRequest(method, target, listen)
  if (message instanceof GatewayError) return toRejected(message)
  const tunnel = rejectTunnel(message.method)
  if (tunnel !== null) return toRejected(tunnel)
  const head = parseRequestHead(message.fields, null, false)
  // A path has no authority, and this request's Host is made up.
  const matchesAuthority = target.startsWith('/') ? matchAnyAuthority : compileAuthorityMatcher(listen)
  const options = { matchesAuthority, pseudonym: 'explain', secure: /^https:/i.test(target) }
  const parsed = parseRequestTarget(message.target)
  const request = {
    method: message.method,
    originalUrl: message.target,
    target: parsed,
    httpVersion: message.version,
    rawHeaders: message.fields,
  }
  const operation = operationsByPath.get(toRoutablePath(parsed?.path ?? '', listen.basePath)) ?? null
  const admitted = validateRequest({ request, head, expectation: 'none' }, listen, options, operation)
  return admitted instanceof GatewayError ? toRejected(admitted) : { admitted: true, ...admitted }
}

const toRejected = ({ kind, fields }: GatewayError): SimulatedRequest => ({
  admitted: false,
  kind,
  allow: fields[1] ?? null,
})

/** One character a byte, as the gateway reads the wire. */
const toLatin1 = (text: string): string => Buffer.from(text).toString('latin1')

const parseRequest = (method: string, target: string, listen: ListenConfig): RequestMessage | GatewayError => {
  if (/[\r\n]/.test(method + target)) return new GatewayError('bad-request') // it would end the line
  const heads: RequestMessage[] = []
  const parser = new RequestParser({ head: (message) => void heads.push(message), body: () => {}, end: () => {} }, () =>
    getRequestLimits(listen),
  )
  try {
    parser.read(Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: gateway\r\n\r\n`))
  } catch (error) {
    return GatewayError.from(error)
  }
  return heads[0] ?? new GatewayError('bad-request')
}

export interface RejectionExplanation {
  readonly differs: readonly string[]
  readonly meant: Operation | null
  readonly hint: string
}

export const explainRejection = (
  { kind }: Extract<SimulatedRequest, { admitted: false }>,
  method: string,
  target: string,
  listen: ListenConfig,
  locateKey: (key: string) => string,
): RejectionExplanation => {
  if (kind === 'uri-too-long') {
    const size = `it has ${toLatin1(target).length} bytes, and at most ${formatSize(listen.maxTarget)} are read`
    const hint = 'send a shorter one, or raise listen.maxTarget (at most 64KiB)'
    return { differs: [`${size}: ${locateKey('listen.maxTarget')}`], meant: null, hint }
  }
  const path = extractPath(target)
  const known = operationsByPath.get(toRoutablePath(path, listen.basePath))
  const guess =
    known === undefined
      ? explainPathMismatch(path, { basePath: listen.basePath, baseKey: locateKey('listen.basePath') })
      : { differs: [], meant: known }
  const meant = method === 'CONNECT' || target === '*' ? null : guess.meant
  const differs = [
    ...explainMethod(method, meant),
    ...(kind === 'bad-request' ? explainTarget(target) : []),
    ...(kind === 'misdirected' ? [`its host is none of those in ${locateKey('listen.hosts')}`] : []),
    // For a target that is no path, only the operation that was meant helps.
    ...(kind === 'not-found' || (target.startsWith('/') && meant !== null) ? guess.differs : []),
  ]
  const hint = meant === null ? 'send one of the nine' : `send ${meant.method} ${listen.basePath}${meant.path}`
  return { differs, meant, hint }
}

export const listOperations = (basePath: string): readonly string[] =>
  allOperations.map(({ method, path }) => `${method.padEnd(4)} ${basePath}${path}`)

const explainMethod = (method: string, meant: Operation | null): readonly string[] => {
  if (knownMethods.has(method)) {
    if (method === 'CONNECT') return ['CONNECT asks for a tunnel, and there is none']
    if (meant === null || meant.method === method) return []
    return [`${meant.path} takes ${meant.method} and nothing else, not ${method}`]
  }
  const upper = method.toUpperCase()
  if (knownMethods.has(upper)) return [`methods are case-sensitive (RFC 9110 §9.1): ${method} is not ${upper}`]
  return ['the parser does not know the method']
}

const explainTarget = (target: string): readonly string[] => {
  const causes: string[] = []
  if (target.includes('#')) causes.push('"#" stands in it, and a fragment is never sent (RFC 9112 §3.2.1)')
  if (target.includes(' ')) causes.push('a blank stands in it, and must be escaped: %20')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  if (/[\0-\x1f\x7f]/.test(target)) causes.push('a control character stands in it')
  // Half a surrogate pair has no UTF-8: it goes over the wire as U+FFFD.
  const [beyond] = /[^\0-\x7f]/u.exec(target.toWellFormed()) ?? []
  if (beyond !== undefined)
    causes.push(`"${beyond}" is beyond ASCII, and must be escaped: ${encodeURIComponent(beyond)}`)
  if (target === '*') causes.push('"*" asks about the server as a whole, which is none of the nine')
  else if (!target.startsWith('/')) causes.push(...explainTargetForm(target))
  return causes
}

const explainTargetForm = (target: string): readonly string[] => {
  const [, scheme = '', authority = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(target) ?? []
  if (scheme === '') return ['it does not begin with a slash']
  if (!/^https?$/i.test(scheme)) return [`${scheme}:// is not http:// or https://`]
  if (authority.includes('@')) return ['a user name or a password stands in it']
  return isValidHost(authority) ? [] : ['http:// is not followed by a host']
}

/** Also for a target that the gateway cannot parse. */
const extractPath = (target: string): string => {
  const [line = ''] = target.trim().split(/[\r\n]| HTTP\//) // the rest would be another line
  const parsed = parseRequestTarget(toLatin1(line))
  if (parsed !== null) return parsed.path
  const [path = ''] = line.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split(/[?#]/)
  return path.startsWith('/') ? path : `/${path}`
}
