import { allOperations, type Operation } from '../../../operations.ts'
import type { ListenConfig } from '../../config/config.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { trimBlanks } from '../../exchange/header-fields.ts'
import type { DownstreamRequest } from '../codec.ts'
import { type AuthorityMatcher, isValidHost } from './authority.ts'
import type { Expectation, RequestHead } from './request-head.ts'

export interface ParsedRequest {
  readonly head: RequestHead
  readonly expectation: Expectation
  readonly request: Pick<DownstreamRequest, 'originalUrl' | 'target' | 'method' | 'httpVersion' | 'rawHeaders'>
}

export type MatchedRequest = Pick<Exchange, 'operation' | 'query' | 'authority'>

/** The operation at each path, byte for byte. */
export type RouteMap = ReadonlyMap<string, Operation>

/** Each path has one method. */
export const createRouteMap = (basePath: string): RouteMap =>
  new Map(allOperations.map((operation) => [basePath + operation.path, operation]))

export interface MatchOptions {
  readonly routes: RouteMap
  readonly matchesAuthority: AuthorityMatcher
  /** The gateway's name in `Via`. */
  readonly pseudonym: string
  readonly secure: boolean
}

/**
 * Validates a request's head and finds its operation, or returns why not. Malformed comes before misdirected, that
 * before unknown, unknown before the wrong method (RFC 9112 §3, §6; RFC 9110 §15.5): a client that means another server
 * learns nothing of this one's paths. The version has been checked. `routedOperation` is the operation that Fastify has
 * found for the path and the method; null: none.
 */
export const validateAndRoute = (
  { request, head, expectation }: ParsedRequest,
  limits: Pick<ListenConfig, 'maxTarget' | 'maxHeaders' | 'maxHeaderFields'>,
  { routes, matchesAuthority, pseudonym, secure }: MatchOptions,
  routedOperation: Operation | null,
): MatchedRequest | GatewayError => {
  const { httpVersion, target } = request
  if ((request.originalUrl?.length ?? 0) > limits.maxTarget) return new GatewayError('uri-too-long')
  if (request.rawHeaders.length / 2 > limits.maxHeaderFields)
    return new GatewayError('header-too-large', { reason: 'too-many-fields' })
  if (head.bytes > limits.maxHeaders) return new GatewayError('header-too-large', { reason: 'fields-too-large' })

  const framingError = validateFraming(head, httpVersion)
  if (framingError !== null) return framingError
  const [host] = head.hosts
  // RFC 9112 §3.2: exactly one valid Host, though HTTP/1.0 may go without one.
  if (target === null) return new GatewayError('bad-request', { reason: 'bad-target' })
  if (head.hosts.length > 1 || (host === undefined ? httpVersion !== '1.0' : !isValidHost(host)))
    return new GatewayError('bad-request', { reason: 'bad-host' })

  const authority = target.authority ?? host ?? ''
  // RFC 9112 §3.3: HTTP/1.0 without Host names nothing, and no name is the default here (RFC 9110 §7.4, §15.5.20).
  if (!matchesAuthority(authority, secure)) return new GatewayError('misdirected')
  const operation = routedOperation ?? routes.get(target.path)
  if (operation === undefined) return new GatewayError('not-found')
  if (operation.method !== request.method)
    return new GatewayError('method-not-allowed', { fields: ['Allow', operation.method] })
  if (head.via !== null && viaContains(head.via, pseudonym)) return new GatewayError('loop')
  if (expectation === 'unknown') return new GatewayError('expectation-failed')
  return { operation, query: target.query, authority }
}

/** Checks what a request says of its length (RFC 9112 §6.1, §6.3). */
export const validateFraming = (
  { transferEncoding, contentLength }: Pick<RequestHead, 'transferEncoding' | 'contentLength'>,
  httpVersion: string,
): GatewayError | null => {
  // RFC 9110 §8.6: digits alone. What cannot be counted exactly is rejected.
  if (contentLength !== null && !(digits.test(contentLength) && Number.isSafeInteger(Number(contentLength))))
    return new GatewayError('bad-request', { reason: 'bad-length' })
  if (transferEncoding === null) return null
  // Both together are how a request is smuggled.
  if (httpVersion === '1.0' || contentLength !== null)
    return new GatewayError('bad-request', { reason: 'bad-transfer-coding' })
  const codings = transferEncoding.toLowerCase().split(',').map(trimBlanks)
  if (codings.at(-1) !== 'chunked' || codings.indexOf('chunked') !== codings.length - 1 || codings.includes(''))
    return new GatewayError('bad-request', { reason: 'bad-transfer-coding' })
  return codings.length === 1 ? null : new GatewayError('unsupported-coding')
}

const digits = /^\d+$/

/** Finds a pseudonym among the hops of `Via` (RFC 9110 §7.6.3): protocol, name, optional comment. */
const viaContains = (via: string, pseudonym: string): boolean =>
  via.includes(pseudonym) && via.split(',').some((hop) => hop.trim().split(/[ \t]+/)[1] === pseudonym)
