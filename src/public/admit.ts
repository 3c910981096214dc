import { catalog, type Operation } from '../catalog.ts'
import type { ListenConfig } from '../config/config.ts'
import type { Kind } from '../failures/kinds.ts'
import type { Reason } from '../failures/reasons.ts'
import type { Head } from './head.ts'
import { type IsOurs, isHost } from './hosts.ts'
import type { Visit } from './visit.ts'
import type { ClientRequest } from './wire.ts'

/** What is read of a request. */
export interface Asked extends Pick<Visit, 'head' | 'expects'> {
  readonly request: Pick<ClientRequest, 'originalUrl' | 'target' | 'method' | 'httpVersion' | 'rawHeaders'>
}

/** Is a request let in. */
export interface Admitted {
  readonly operation: Operation
  /** The raw query with its `?`, or empty. */
  readonly query: string
  /** The host that the client asked for. */
  readonly authority: string
}

/** Is a request turned away, and with what. */
export interface Refused {
  readonly kind: Kind
  /** What of it; null: the kind says all. */
  readonly reason: Reason | null
  /** Further fields for the answer, flat. */
  readonly fields: readonly string[]
}

/** Finds what stands at a path, byte for byte; undefined: nothing does. */
export type Routes = ReadonlyMap<string, Operation>

/** Lays out the nine under `{base_url}`'s path. Each path has one method. */
export const routes = (basePath: string): Routes =>
  new Map(catalog.map((operation) => [basePath + operation.path, operation]))

/** Is what a listener lets in. */
export interface Terms {
  readonly routes: Routes
  readonly isOurs: IsOurs
  /** The gateway's name in `Via`. */
  readonly pseudonym: string
  readonly secure: boolean
}

const refused = (kind: Kind, reason: Reason | null, ...fields: string[]): Refused => ({ kind, reason, fields })

/**
 * Decides on a request's head: one of the nine, or the reason why not. Malformed comes before misdirected, that before unknown, unknown
 * before the wrong method (RFC 9112 §3, §6; RFC 9110 §15.5): whoever means another server learns nothing of this one's paths.
 * The version has been checked. `routed` is the operation that has been found for the path and the method; null: none.
 */
export const admit = (
  { request, head, expects }: Asked,
  bounds: Pick<ListenConfig, 'maxTargetBytes' | 'maxHeaderBytes' | 'maxHeaderFields'>,
  { routes, isOurs, pseudonym, secure }: Terms,
  routed: Operation | null,
): Admitted | Refused => {
  const { httpVersion, target } = request
  if ((request.originalUrl?.length ?? 0) > bounds.maxTargetBytes) return refused('uri-too-long', null)
  if (request.rawHeaders.length / 2 > bounds.maxHeaderFields) return refused('header-too-large', 'too-many-fields')
  if (head.bytes > bounds.maxHeaderBytes) return refused('header-too-large', 'fields-too-large')

  const framing = checkFraming(head, httpVersion)
  if (framing !== null) return framing
  const [host] = head.hosts
  // RFC 9112 §3.2: exactly one valid Host, though HTTP/1.0 may go without one.
  if (target === null) return refused('bad-request', 'bad-target')
  if (head.hosts.length > 1 || (host === undefined ? httpVersion !== '1.0' : !isHost(host)))
    return refused('bad-request', 'bad-host')

  const authority = target.authority ?? host ?? ''
  // RFC 9112 §3.3: HTTP/1.0 without Host names nothing, and no name is the default here (RFC 9110 §7.4, §15.5.20).
  if (!isOurs(authority, secure)) return refused('misdirected', null)
  const operation = routed ?? routes.get(target.path)
  if (operation === undefined) return refused('not-found', null)
  if (operation.method !== request.method) return refused('method-not-allowed', null, 'Allow', operation.method)
  if (head.via !== null && cameFrom(head.via, pseudonym)) return refused('loop', null)
  if (expects === 'unknown') return refused('expectation-failed', null)
  return { operation, query: target.query, authority }
}

/** Checks what Node's parser lets through of the rules on message length (RFC 9112 §6.1, §6.3). */
const checkFraming = ({ transferEncoding, contentLength }: Head, httpVersion: string): Refused | null => {
  if (contentLength !== null && !Number.isSafeInteger(Number(contentLength)))
    return refused('bad-request', 'bad-length')
  if (transferEncoding === null) return null
  if (httpVersion === '1.0') return refused('bad-request', 'bad-transfer-coding')
  const codings = transferEncoding.split(',').map((coding) => coding.trim().toLowerCase())
  if (codings.at(-1) !== 'chunked' || codings.indexOf('chunked') !== codings.length - 1 || codings.includes(''))
    return refused('bad-request', 'bad-transfer-coding')
  return codings.length === 1 ? null : refused('unsupported-coding', null)
}

/** Finds a pseudonym among the hops of `Via` (RFC 9110 §7.6.3): protocol, name, optional comment. */
const cameFrom = (via: string, pseudonym: string): boolean =>
  via.includes(pseudonym) && via.split(',').some((hop) => hop.trim().split(/[ \t]+/)[1] === pseudonym)
