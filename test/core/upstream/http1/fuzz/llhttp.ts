/**
 * Runs llhttp, Node's parser: compiled to WebAssembly, as undici ships it, and strict, as it is by default. None of
 * undici's own code stands between.
 */
import { createRequire } from 'node:module'

/** A request as llhttp reads it; latin1. */
export interface LlhttpRequest {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly fields: readonly string[]
  readonly body: string
  readonly complete: boolean
  /** Whether the connection goes on, by the head; null: that is no matter. */
  readonly persistent: boolean | null
}

/** What llhttp reads of the requests of a connection. */
export interface LlhttpRequests {
  readonly requests: readonly LlhttpRequest[]
  /** The name of its error; null: none. */
  readonly rejected: string | null
}

/** What llhttp reads of a response. */
export interface LlhttpResponse {
  readonly interim: readonly (readonly [status: number, fields: readonly string[]])[]
  readonly status: number
  readonly reason: string
  /** All fields, as received; latin1. */
  readonly fields: readonly string[]
  readonly body: string
  /** Whether it has ended: `closed`, with the connection. */
  readonly ended: 'no' | 'yes' | 'closed'
  /** The number of bytes behind it. */
  readonly behind: number
  /** Whether the connection goes on, by the head. */
  readonly persistent: boolean
  /** The name of its error; null: none. */
  readonly rejected: string | null
}

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  malloc(size: number): number
  llhttp_alloc(type: number): number
  llhttp_free(parser: number): void
  llhttp_execute(parser: number, data: number, length: number): number
  llhttp_finish(parser: number): number
  llhttp_get_error_pos(parser: number): number
  llhttp_get_method(parser: number): number
  llhttp_get_http_major(parser: number): number
  llhttp_get_http_minor(parser: number): number
}

// TypeScript declares it for browsers alone.
declare const WebAssembly: {
  Module: new (bytes: Buffer) => object
  Instance: new (module: object, imports: object) => { readonly exports: Exports }
}

const [aRequest, aResponse] = [1, 2]
const [paused, pausedByUpgrade] = [21, 22]
const [withoutBody, asTunnel] = [1, 2]

const require = createRequire(import.meta.url)
const constants: Readonly<
  Record<'ERROR' | 'METHODS', Readonly<Record<string, number>>>
> = require('undici/lib/llhttp/constants.js')
const nameOf = (kind: keyof typeof constants, code: number): string =>
  Object.keys(constants[kind]).find((name) => constants[kind][name] === code) ?? String(code)

// RFC 9110 §15.2, §15.3.6. llhttp knows it of 100 to 103, 204 and 304 only. For the others a callback says so, as for
// responses to HEAD.
const isWithoutContent = (status: number): boolean => (status >= 104 && status < 200) || status === 205

const newMessage = () => ({
  ...{ method: '', target: '', version: '', status: 0, reason: '', fields: [] as string[], body: '' },
  ...{ persistent: false, isWhole: false, isHeadWhole: false },
})

/** The messages that were read. The last one is being read. */
let messages: ReturnType<typeof newMessage>[] = []
let message = newMessage()

const text = (at: number, length: number): string => Buffer.from(wasm.memory.buffer, at, length).toString('latin1')

/** Makes a callback for a part of a message; the parser goes on. */
const taking = (take: (part: string) => void) => (_: number, at: number, length: number) => {
  take(text(at, length))
  return 0
}

const { exports: wasm } = new WebAssembly.Instance(
  new WebAssembly.Module(require('undici/lib/llhttp/llhttp_simd-wasm.js')),
  {
    env: {
      wasm_on_message_begin: () => {
        message = newMessage()
        messages.push(message)
        return 0
      },
      wasm_on_url: taking((part) => {
        message.target += part
      }),
      wasm_on_status: taking((part) => {
        message.reason += part
      }),
      wasm_on_header_field: taking((part) => {
        if (!message.isHeadWhole) message.fields.push(part, '')
      }),
      wasm_on_header_value: taking((part) => {
        if (!message.isHeadWhole) message.fields[message.fields.length - 1] += part
      }),
      wasm_on_headers_complete: (parser: number, status: number, _: number, persistent: number) => {
        const version = `${wasm.llhttp_get_http_major(parser)}.${wasm.llhttp_get_http_minor(parser)}`
        const method = nameOf('METHODS', wasm.llhttp_get_method(parser))
        const fields = message.fields.map((part, i) => (i % 2 === 0 ? part : part.replace(/[ \t]+$/, '')))
        Object.assign(message, { method, version, status, fields, persistent: persistent === 1, isHeadWhole: true })
        if (status === 0) return method === 'CONNECT' ? asTunnel : 0
        return isWithoutContent(status) ? withoutBody : 0
      },
      wasm_on_body: taking((part) => {
        message.body += part
      }),
      wasm_on_message_complete: () => {
        message.isWhole = true
        return message.status === 0 ? 0 : paused
      },
    },
  },
)

const room = 1024 * 1024
const at = wasm.malloc(room)

/** Has a new parser read bytes from a place on, and perhaps their end; returns its errors, and where it stands. */
const execute = (type: number, bytes: Buffer, from = 0, isEnded = false) => {
  if (bytes.length > room) throw new Error('too large for the oracle')
  Buffer.from(wasm.memory.buffer, at, room).set(bytes)
  ;[messages, message] = [[], newMessage()]
  const parser = wasm.llhttp_alloc(type)
  const code = wasm.llhttp_execute(parser, at + from, bytes.length - from)
  const end = code === 0 ? bytes.length : wasm.llhttp_get_error_pos(parser) - at
  const { isWhole } = message
  const finished = !isEnded || isWhole || code !== 0 ? 0 : wasm.llhttp_finish(parser)
  wasm.llhttp_free(parser)
  return { code, end, isWhole, finished }
}

/** Parses the requests of a connection. They come in one part, and behind them the connection stays open. */
export const runLlhttpOnRequests = (bytes: Buffer): LlhttpRequests => {
  const { code } = execute(aRequest, bytes)
  const requests = messages
    .filter(({ isHeadWhole }) => isHeadWhole)
    .map(({ method, target, version, fields, body, isWhole: complete, persistent }) => ({
      ...{ method, target, version, fields, body, complete, persistent },
    }))
  return { requests, rejected: code === 0 || code === pausedByUpgrade ? null : nameOf('ERROR', code) }
}

/** Parses a response, with the interim ones in front. It comes in one part, and behind it the connection ends. */
export const runLlhttp = (bytes: Buffer): LlhttpResponse => {
  const interim: [number, string[]][] = []
  for (let read = 0; ; ) {
    // Each head by itself: after an interim one with `Connection: close` it would read nothing more.
    const { code, end, isWhole, finished } = execute(aResponse, bytes, read, true)
    const isClosed = !isWhole && message.isWhole
    const { status, reason, fields, body, persistent } = message
    if (isWhole && status >= 100 && status < 200 && status !== 101) {
      interim.push([status, fields])
      read = end
      if (read < bytes.length) continue
      return { ...newMessage(), interim, ended: 'no', behind: 0, persistent, rejected: null }
    }
    const rejected = code !== 0 && !isWhole ? nameOf('ERROR', code) : null
    const isCut = finished !== 0 && finished !== paused
    const ended = isWhole ? 'yes' : isClosed && !isCut ? 'closed' : 'no'
    return { interim, status, reason, fields, body, ended, behind: bytes.length - end, persistent, rejected }
  }
}
