import type { Socket } from 'node:net'
import type { Operation } from '../../../operations.ts'
import type { HeaderMutationConfig } from '../../config/config.ts'
import type { Upload } from '../../exchange/body.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import {
  fieldNameEquals,
  findUnsendable,
  type HeaderFields,
  isFieldValue,
  isHopByHop,
} from '../../exchange/header-fields.ts'
import { maxSingleWriteBytes } from '../../lib/buffers.ts'

interface UpstreamRequestHead {
  readonly method: Operation['method']
  readonly target: string
  readonly host: string
  readonly keepAlive: boolean
  /** Without Host, Content-Length and Connection. */
  readonly fields: HeaderFields
}

/**
 * In latin1, without framing. Throws `internal` if a server could read two requests in the head: the client's part was
 * checked before, so the gateway or its configuration is at fault (RFC 9112 §3, §5, RFC 9110 §5.5).
 */
export const renderRequestHead = ({ method, target, host, keepAlive, fields }: UpstreamRequestHead): string => {
  if (!isTarget.test(target) || !isFieldValue(host)) throw unsendableError('target or Host')
  let head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: ${keepAlive ? 'keep-alive' : 'close'}\r\n`
  const unsendable = findUnsendable(fields)
  if (unsendable !== null) throw unsendableError(unsendable)
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (isRenderedHere(name)) throw unsendableError(name)
    head += `${name}: ${fields[i + 1]}\r\n`
  }
  return head
}

/** Null: chunked. RFC 9110 §8.6: a POST states a length of 0 too. */
const renderFraming = (length: number | null, isPost: boolean): string => {
  if (length === null) return 'Transfer-Encoding: chunked\r\n\r\n'
  return length > 0 || isPost ? `Content-Length: ${length}\r\n\r\n` : '\r\n'
}

const isTarget = /^[\x21-\x7e]+$/

/** A second framing or hop-by-hop field could be read in place of the gateway's. */
const isRenderedHere = (name: string): boolean =>
  isHopByHop(name) ||
  fieldNameEquals(name, 'host') ||
  fieldNameEquals(name, 'content-length') ||
  fieldNameEquals(name, 'expect')

const unsendableError = (part: string): GatewayError =>
  new GatewayError('internal', { cause: new Error(`the request cannot be sent: ${JSON.stringify(part)}`) })

export type RequestContent = readonly Buffer[] | Upload

/**
 * `length` null: chunked. Returns null if all is written at once. Otherwise resolves when all is written, to false if
 * `isCanceled`. Rejects with the body's error, or if the body's length differs from `length`.
 */
export const writeRequest = (
  socket: Socket,
  head: string,
  body: RequestContent,
  length: number | null,
  isPost: boolean,
  isCanceled: () => boolean,
): Promise<boolean> | null => {
  if ('stop' in body) return writeUpload(socket, head, body, length, isPost, isCanceled)
  let bytes = 0
  for (const chunk of body) bytes += chunk.length
  let text = head + renderFraming(bytes, isPost)
  if (bytes <= maxSingleWriteBytes) {
    for (const chunk of body) text += chunk.toString('latin1')
    socket.write(text, 'latin1')
  } else {
    socket.cork()
    socket.write(text, 'latin1')
    for (const chunk of body) socket.write(chunk)
    socket.uncork()
  }
  return null
}

const writeUpload = async (
  socket: Socket,
  head: string,
  upload: Upload,
  length: number | null,
  isPost: boolean,
  isCanceled: () => boolean,
): Promise<boolean> => {
  let unsent = head + renderFraming(length, isPost)
  let bytes = 0
  for await (const chunk of upload) {
    if (isCanceled()) return false
    if (chunk.length === 0) continue // RFC 9112 §7.1: an empty chunk would end the body
    bytes += chunk.length
    if (length !== null && bytes > length) throw wrongLengthError()
    socket.cork()
    if (length === null) unsent += `${chunk.length.toString(16)}\r\n`
    if (unsent !== '') socket.write(unsent, 'latin1')
    socket.write(chunk)
    socket.uncork()
    unsent = length === null ? '\r\n' : ''
    if (socket.writableNeedDrain) await waitForDrain(socket)
  }
  if (isCanceled()) return false
  if (length !== null && bytes !== length) throw wrongLengthError()
  // An empty body goes out without chunks: some servers accept none with a GET.
  if (bytes === 0) unsent = head + renderFraming(0, isPost)
  else if (length === null) unsent += '0\r\n\r\n'
  if (unsent !== '') socket.write(unsent, 'latin1')
  return true
}

const waitForDrain = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const onDrained = (): void => {
      socket.off('drain', onDrained).off('close', onDrained)
      resolve()
    }
    socket.on('drain', onDrained).on('close', onDrained)
  })

const wrongLengthError = (): Error => new Error('the body of the request is longer or shorter than its Content-Length')

type WriteCallback = (error?: Error | null) => void

/**
 * For endpoints that respond and close while the request is being sent (413, 401, 503): their kernel sends a reset, the
 * next write fails, and Node would discard the response. So only `onWriteError` gets the error, and the socket keeps
 * reading.
 */
export const deferWriteErrors = (socket: Socket, onWriteError: (error: Error) => void): void => {
  // A stream writes one chunk at a time, so one callback serves all.
  let pendingCallback: WriteCallback = () => {}
  const settle: WriteCallback = (error) => {
    if (error === null || error === undefined || !isConnectionClosed(error)) pendingCallback(error)
    else onWriteError(error)
  }
  const { _write, _writev } = socket
  socket._write = (chunk, encoding, done) => {
    pendingCallback = done
    _write.call(socket, chunk, encoding, settle)
  }
  socket._writev = (chunks, done) => {
    pendingCallback = done
    _writev?.call(socket, chunks, settle)
  }
}

const isConnectionClosed = ({ code }: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE'

export type HeaderMutation = (fields: HeaderFields) => HeaderFields

/** `set` replaces all fields of the name. Null: no change. Names with the same `fold` are equal. */
export const compileHeaderMutation = (
  { set, remove }: HeaderMutationConfig,
  fold = toLowerCase,
): HeaderMutation | null => {
  if (set.length === 0 && remove.length === 0) return null
  const removed = new Set([...remove, ...set.map(({ name }) => name)].map(fold))
  const added = set.flatMap(({ name, value }) => [name, value])
  return (fields) => {
    const kept: string[] = []
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      if (!removed.has(fold(name))) kept.push(name, fields[i + 1] as string)
    }
    kept.push(...added)
    return kept
  }
}

const toLowerCase = (name: string): string => name.toLowerCase()
