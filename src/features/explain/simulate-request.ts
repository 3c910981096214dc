import type { ListenConfig } from '../../core/config/config.ts'
import { rejectTunnel } from '../../core/downstream/http1/request-line.ts'
import { getRequestLimits, type RequestMessage, RequestParser } from '../../core/downstream/http1/request-parser.ts'
import {
  compileAuthorityMatcher,
  matchAnyAuthority,
  operationsByPath,
  parseRequestTarget,
  toRoutablePath,
  validateRequest,
} from '../../core/downstream/request/match-request.ts'
import { parseRequestHead } from '../../core/downstream/request/request-head.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import type { FailureKind } from '../../core/exchange/failures/kinds.ts'
import type { Operation } from '../../operations.ts'

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
export const simulateRequest = (method: string, target: string, listen: ListenConfig): SimulatedRequest => {
  const message = parseRequest(method, target, listen)
  if (message instanceof GatewayError) return toRejected(message)
  const tunnel = rejectTunnel(message.method)
  if (tunnel !== null) return toRejected(tunnel)
  const head = parseRequestHead(message.fields, null, false)
  // A path alone has no authority, and the Host of this request is made up.
  const matchesAuthority = target.startsWith('/') ? matchAnyAuthority : compileAuthorityMatcher(listen)
  const options = {
    matchesAuthority,
    pseudonym: 'explain',
    secure: /^https:/i.test(target),
  }
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

/** Converts a text to one character a byte, as it goes over the wire and as the gateway reads it. */
export const toLatin1 = (text: string): string => Buffer.from(text).toString('latin1')

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
