import type { Operation } from '../catalog.ts'
import { GatewayError } from '../failures/errors.ts'
import { type Fields, isHopByHop, isNamed } from '../fields.ts'

/** What the head of a request is made of. */
export interface RequestHead {
  readonly method: Operation['method']
  /** Path and raw query. */
  readonly target: string
  readonly host: string
  /** Whether another request may follow on the connection. */
  readonly keepAlive: boolean
  /** End-to-end fields; Host, Content-Length and Connection are rendered here. */
  readonly fields: Fields
}

/**
 * Renders the head of a request, latin1, all but its {@link framing}. Throws `internal` when it holds what would not be read as one request by every server: the
 * client's own part has been checked, so a layer or the configuration is at fault (RFC 9112 §3, §5, RFC 9110 §5.5).
 */
export const requestHead = ({ method, target, host, keepAlive, fields }: RequestHead): string => {
  if (!isTarget.test(target) || !isValue.test(host)) throw unsendable('target or Host')
  let head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: ${keepAlive ? 'keep-alive' : 'close'}\r\n`
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    const value = fields[i + 1] as string
    if (!isName.test(name) || !isValue.test(value) || isRenderedHere(name)) throw unsendable(name)
    head += `${name}: ${value}\r\n`
  }
  return head
}

/** Renders how long the body is, and the end of the head; null: chunked. RFC 9110 §8.6: a POST names a length of 0 too. */
export const framing = (head: string, length: number | null): string => {
  if (length === null) return 'Transfer-Encoding: chunked\r\n\r\n'
  return length > 0 || head.startsWith('POST ') ? `Content-Length: ${length}\r\n\r\n` : '\r\n'
}

const isTarget = /^[\x21-\x7e\x80-\xff]+$/
const isName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const isValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** Tells whether a field is the framing's, or this hop's: a second one could be read in place of the first. */
const isRenderedHere = (name: string): boolean =>
  isHopByHop(name) || isNamed(name, 'host') || isNamed(name, 'content-length') || isNamed(name, 'expect')

const unsendable = (part: string): GatewayError =>
  new GatewayError('internal', { cause: new Error(`the request cannot be sent: ${JSON.stringify(part)}`) })
