import { allOperations, type Operation } from '../../../operations.ts'
import type { ListenConfig } from '../../config/config.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { trimBlanks } from '../../exchange/header-fields.ts'
import { isIPv6 } from '../../lib/net/addresses.ts'
import type { DownstreamRequest, RequestTarget } from '../codec.ts'
import type { Expectation, RequestHead } from './request-head.ts'

interface ParsedRequest {
  readonly head: RequestHead
  readonly expectation: Expectation
  readonly request: Pick<DownstreamRequest, 'originalUrl' | 'target' | 'method' | 'httpVersion' | 'rawHeaders'>
}

export type MatchedRequest = Pick<Exchange, 'operation' | 'query' | 'authority'>

interface MatchOptions {
  readonly matchesAuthority: AuthorityMatcher
  readonly pseudonym: string
  readonly secure: boolean
}

/**
 * Malformed, misdirected, unknown, wrong method, in this order (RFC 9112 §3, §6; RFC 9110 §15.5): a client of another
 * server learns nothing about these paths. `operation` is the one at the path.
 */
export const validateRequest = (
  { request, head, expectation }: ParsedRequest,
  limits: Pick<ListenConfig, 'maxTarget' | 'maxHeaders' | 'maxHeaderFields'>,
  { matchesAuthority, pseudonym, secure }: MatchOptions,
  operation: Operation | null,
): MatchedRequest | GatewayError => {
  const { httpVersion, target } = request
  if ((request.originalUrl?.length ?? 0) > limits.maxTarget) return new GatewayError('uri-too-long')
  if (request.rawHeaders.length / 2 > limits.maxHeaderFields)
    return new GatewayError('header-too-large', { reason: 'too-many-fields' })
  if (head.bytes > limits.maxHeaders) return new GatewayError('header-too-large', { reason: 'fields-too-large' })

  const framingError = validateFraming(head, httpVersion)
  if (framingError !== null) return framingError
  const [host] = head.hosts
  // RFC 9112 §3.2: exactly one valid Host; HTTP/1.0 may omit it.
  if (target === null) return new GatewayError('bad-request', { reason: 'bad-target' })
  if (head.hosts.length > 1 || (host === undefined ? httpVersion !== '1.0' : !isValidHost(host)))
    return new GatewayError('bad-request', { reason: 'bad-host' })

  const authority = target.authority ?? host ?? ''
  // RFC 9112 §3.3: HTTP/1.0 without Host has an empty authority (RFC 9110 §7.4, §15.5.20).
  if (!matchesAuthority(authority, secure)) return new GatewayError('misdirected')
  if (operation === null) return new GatewayError('not-found')
  if (operation.method !== request.method)
    return new GatewayError('method-not-allowed', { fields: ['Allow', operation.method] })
  if (head.via !== null && viaContains(head.via, pseudonym)) return new GatewayError('loop')
  if (expectation === 'unknown') return new GatewayError('expectation-failed')
  return { operation, query: target.query, authority }
}

export const validateFraming = (
  { transferEncoding, contentLength }: Pick<RequestHead, 'transferEncoding' | 'contentLength'>,
  httpVersion: string,
): GatewayError | null => {
  // RFC 9110 §8.6: digits alone, and an exact integer.
  if (contentLength !== null && !(digits.test(contentLength) && Number.isSafeInteger(Number(contentLength))))
    return new GatewayError('bad-request', { reason: 'bad-length' })
  if (transferEncoding === null) return null
  // Both together allow request smuggling (RFC 9112 §6.1).
  if (httpVersion === '1.0' || contentLength !== null)
    return new GatewayError('bad-request', { reason: 'bad-transfer-coding' })
  const codings = transferEncoding.toLowerCase().split(',').map(trimBlanks)
  if (codings.at(-1) !== 'chunked' || codings.indexOf('chunked') !== codings.length - 1 || codings.includes(''))
    return new GatewayError('bad-request', { reason: 'bad-transfer-coding' })
  return codings.length === 1 ? null : new GatewayError('unsupported-coding')
}

const digits = /^\d+$/

/** RFC 9110 §7.6.3: protocol, name, optional comment. */
const viaContains = (via: string, pseudonym: string): boolean =>
  via.includes(pseudonym) && via.split(',').some((hop) => hop.trim().split(/[ \t]+/)[1] === pseudonym)

const absoluteFormPattern = /^https?:\/\/([^/?#]*)([^#]*)$/i

export const parseRequestTarget = (raw: string): RequestTarget | null => {
  // RFC 9112 §3.2.1 has no fragment, but some clients send one, and some servers cut it off.
  if (raw.includes('#')) return null
  if (raw.charCodeAt(0) === slash) return splitTarget(raw, null)
  const match = absoluteFormPattern.exec(raw) // else the asterisk-form, the authority-form, or another scheme
  if (match === null) return null
  const [, authority = '', rest = ''] = match
  return isValidHost(authority) ? splitTarget(rest, authority) : null
}

const slash = 0x2f

const splitTarget = (raw: string, authority: string | null): RequestTarget => {
  const at = raw.indexOf('?')
  return at === -1 ? { path: raw, query: '', authority } : { path: raw.slice(0, at), query: raw.slice(at), authority }
}

export type AuthorityMatcher = (authority: string, secure: boolean) => boolean

export const matchAnyAuthority: AuthorityMatcher = () => true

/**
 * Without names, all match. A name without a port matches every port; one with the scheme's default port also matches
 * without. A final dot (the DNS root) is ignored.
 */
export const compileAuthorityMatcher = ({ hosts: names }: Pick<ListenConfig, 'hosts'>): AuthorityMatcher => {
  if (names.length === 0) return matchAnyAuthority
  const known = new Set(names.map((name) => name.replace(/\.(?=:|$)/, '')))
  return (authority, secure) => {
    const [, host = '', port = ''] = /^(.*?)\.?(?::(\d*))?$/.exec(authority.toLowerCase()) ?? []
    return known.has(host) || known.has(`${host}:${port === '' ? (secure ? 443 : 80) : Number(port)}`)
  }
}

// RFC 3986 §3.2.2: a name or an address in brackets, then an optional port. No comma, though a sub-delim: a proxy joins
// two Host lines with it. No userinfo.
const registeredNamePattern = /^(?:[A-Za-z0-9\-._~!$&'()*+;=]|%[0-9A-Fa-f]{2})+(?::(\d{0,5}))?$/
const ipLiteralPattern = /^\[([0-9A-Fa-f:.]+)\](?::(\d{0,5}))?$/

/** RFC 9110 §4.2.1: not empty. */
export const isValidHost = (value: string): boolean => {
  const named = registeredNamePattern.exec(value)
  if (named !== null) return isValidPort(named[1])
  const bracketed = ipLiteralPattern.exec(value)
  return bracketed !== null && isIPv6(bracketed[1] ?? '') && isValidPort(bracketed[2])
}

const isValidPort = (digits: string | undefined): boolean => digits === undefined || Number(digits) <= 65535

/** Byte for byte; `/`, which has no operation, if the path is elsewhere or Fastify would decode it. */
export const toRoutablePath = (path: string, basePath: string): string =>
  path.includes('%') || !path.startsWith(basePath) || path.charCodeAt(basePath.length) !== slash
    ? '/'
    : path.slice(basePath.length)

export const operationsByPath: ReadonlyMap<string, Operation> = new Map(
  allOperations.map((operation) => [operation.path, operation]),
)
