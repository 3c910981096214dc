import type { IncomingMessage } from 'node:http'
import { duplexPair } from 'node:stream'
import type { ListenConfig } from '../../config/config.ts'
import { compileAuthorityMatcher, matchAnyAuthority } from '../../downstream/request/authority.ts'
import { createRouteMap, validateAndRoute } from '../../downstream/request/match-request.ts'
import { parseRequestHead } from '../../downstream/request/request-head.ts'
import { parseRequestTarget } from '../../downstream/request/request-target.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { FailureKind } from '../../failures/kinds.ts'
import { createServer } from '../../node-http.ts'
import type { Operation } from '../../operations.ts'

/** The decision of the public listener about a method and a target. */
export type SimulatedRequest =
  | { readonly admitted: true; readonly operation: Operation; readonly query: string; readonly authority: string }
  | {
      readonly admitted: false
      readonly kind: FailureKind
      readonly allow: string | null
    }

/**
 * Runs the gateway's own parser and admission, without a socket, on a method and a target; the rest of the request is
 * as plain as can be. It has no parser of its own, which could decide otherwise.
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
  // A path alone has no authority, and the Host of this request is made up.
  const matchesAuthority = target.startsWith('/') ? matchAnyAuthority : compileAuthorityMatcher(listen)
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

/** Converts a target to one character a byte, as it goes over the wire and as the gateway reads it. */
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
    // The limit of the listener's own parser (downstream/http1/http1-server.ts). Only the target can exceed it here.
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
