/**
 * Runs llhttp, Node's parser, on a response: compiled to WebAssembly, as undici ships it, and strict, as it is by
 * default. None of undici's own code stands between.
 */
import { createRequire } from 'node:module'

/** What llhttp reads of a response. */
export interface LlhttpResult {
  readonly interim: (readonly [status: number, fields: readonly string[]])[]
  status: number
  reason: string
  /** All fields, as received; latin1. */
  fields: readonly string[]
  body: string
  /** Whether it has ended: `closed`, with the connection. */
  ended: 'no' | 'yes' | 'closed'
  /** The number of bytes behind it. */
  behind: number
  /** Whether the connection goes on, by the head. */
  persistent: boolean
  /** The name of its error; null: none. */
  rejected: string | null
}

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  malloc(size: number): number
  llhttp_alloc(type: number): number
  llhttp_free(parser: number): void
  llhttp_execute(parser: number, data: number, length: number): number
  llhttp_finish(parser: number): number
  llhttp_get_error_pos(parser: number): number
}

// TypeScript declares it for browsers alone.
declare const WebAssembly: {
  Module: new (bytes: Buffer) => object
  Instance: new (module: object, imports: object) => { readonly exports: Exports }
}

const responses = 2
const paused = 21
const withoutBody = 1

const require = createRequire(import.meta.url)
const errors: Readonly<Record<string, number>> = require('undici/lib/llhttp/constants.js').ERROR
const errorName = (code: number): string => Object.keys(errors).find((name) => errors[name] === code) ?? String(code)

// RFC 9110 §15.2, §15.3.6. llhttp knows it of 100 to 103, 204 and 304 only. For the others a callback says so, as for
// responses to HEAD.
const isWithoutContent = (status: number): boolean => (status >= 104 && status < 200) || status === 205

const newMessage = () => ({
  ...{ status: 0, reason: '', fields: [] as string[], body: '' },
  ...{ persistent: false, isWhole: false, inTrailers: false },
})

/** The message that is being read. */
let message = newMessage()

const text = (at: number, length: number): string => Buffer.from(wasm.memory.buffer, at, length).toString('latin1')

const nothing = (): number => 0
const { exports: wasm } = new WebAssembly.Instance(
  new WebAssembly.Module(require('undici/lib/llhttp/llhttp_simd-wasm.js')),
  {
    env: {
      wasm_on_url: nothing,
      wasm_on_message_begin: nothing,
      wasm_on_status: (_: number, at: number, length: number) => {
        message.reason += text(at, length)
        return 0
      },
      wasm_on_header_field: (_: number, at: number, length: number) => {
        if (!message.inTrailers) message.fields.push(text(at, length), '')
        return 0
      },
      wasm_on_header_value: (_: number, at: number, length: number) => {
        if (!message.inTrailers) message.fields[message.fields.length - 1] += text(at, length)
        return 0
      },
      wasm_on_headers_complete: (_: number, status: number, __: number, persistent: number) => {
        message.persistent = persistent === 1
        message.status = status
        message.inTrailers = true
        return isWithoutContent(status) ? withoutBody : 0
      },
      wasm_on_body: (_: number, at: number, length: number) => {
        message.body += text(at, length)
        return 0
      },
      wasm_on_message_complete: () => {
        message.isWhole = true
        return paused
      },
    },
  },
)

const room = 1024 * 1024
const at = wasm.malloc(room)

/** Parses a response, with the interim ones in front. It comes in one part, and behind it the connection ends. */
export const runLlhttp = (bytes: Buffer): LlhttpResult => {
  if (bytes.length > room) throw new Error('too large for the oracle')
  const interim: [number, string[]][] = []
  Buffer.from(wasm.memory.buffer, at, room).set(bytes)
  let read = 0
  for (;;) {
    // Each head by itself: after an interim one with `Connection: close` it would read nothing more.
    const parser = wasm.llhttp_alloc(responses)
    message = newMessage()
    const code = wasm.llhttp_execute(parser, at + read, bytes.length - read)
    const end = code === 0 ? bytes.length : wasm.llhttp_get_error_pos(parser) - at
    const isWhole = message.isWhole
    const finished = isWhole || code !== 0 ? 0 : wasm.llhttp_finish(parser)
    const isClosed: boolean = !isWhole && message.isWhole
    wasm.llhttp_free(parser)
    const { status, reason, fields, body, persistent } = message
    if (isWhole && status >= 100 && status < 200 && status !== 101) {
      interim.push([status, fields])
      read = end
      if (read < bytes.length) continue
      return { ...newMessage(), interim, ended: 'no', behind: 0, persistent, rejected: null }
    }
    const rejected = code !== 0 && !isWhole ? errorName(code) : null
    const isCut = finished !== 0 && finished !== paused
    const ended = isWhole ? 'yes' : isClosed && !isCut ? 'closed' : 'no'
    return { interim, status, reason, fields, body, ended, behind: bytes.length - end, persistent, rejected }
  }
}
