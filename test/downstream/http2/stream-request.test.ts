import { EventEmitter } from 'node:events'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { ReceiveWindows, WideConnections } from '../../../src/downstream/http2/receive-windows.ts'
import { StreamRequest } from '../../../src/downstream/http2/stream-request.ts'

const windows = new ReceiveWindows(
  Object.assign(new EventEmitter(), { setLocalWindowSize() {}, settings() {} }) as unknown as ServerHttp2Session,
  new WideConnections(),
)

const requestOn = (state: {
  readonly closed: boolean
  readonly destroyed: boolean
  readonly endAfterHeaders?: boolean
}) => {
  const stream = Object.assign(new EventEmitter(), { endAfterHeaders: false, push: () => true, destroy() {}, ...state })
  const request = new StreamRequest(stream as unknown as ServerHttp2Stream, [':method', 'POST'], null as never, windows)
  let ended = false
  request.on('end', () => {
    ended = true
  })
  stream.emit('end')
  return { ended, complete: request.complete, rawHeaders: request.rawHeaders }
}

// Node tells the end of a body whose stream was reset before it tells that the stream has closed.
test.each([
  ['open', { closed: false, destroyed: false }, true],
  ['reset', { closed: true, destroyed: false }, false],
  ['gone', { closed: true, destroyed: true }, false],
])('the end of a body whose stream is %s', (_, state, whole) => {
  expect(requestOn(state)).toMatchObject({ ended: whole, complete: whole })
})

test('a body without a length is chunked, and where there is none nothing is said of it', () => {
  const open = { closed: false, destroyed: false }

  expect(requestOn(open).rawHeaders).toEqual(['transfer-encoding', 'chunked'])
  expect(requestOn({ ...open, endAfterHeaders: true }).rawHeaders).toEqual([])
})

/** Makes a stream that the test feeds, and the request on it. */
const feed = () => {
  const stream = Object.assign(new Readable({ read() {} }), { endAfterHeaders: false })
  const request = new StreamRequest(stream as unknown as ServerHttp2Stream, [':method', 'POST'], null as never, windows)
  const got: string[] = []
  const listen = () =>
    new Promise<void>((resolve) => request.on('data', (chunk) => got.push(String(chunk))).on('end', () => resolve()))
  const push = (text: string): boolean[] => [...text].map((letter) => stream.push(Buffer.from(letter)))
  return { stream, request, got, listen, push }
}

test('a body of small pieces that nobody reads yet is one piece by then', async () => {
  const { stream, got, listen, push } = feed()

  push('abc')
  stream.push(null)
  await listen()

  expect(got).toEqual(['abc'])
})

test('so is what comes during a pause', async () => {
  const { stream, request, got, listen, push } = feed()
  const ended = listen()
  push('ab')
  await new Promise(setImmediate)

  request.pause()
  push('cde')
  request.resume()
  push('f')
  stream.push(null)
  await ended

  expect(got.slice(0, 2).join('')).toBe('ab')
  expect(got.slice(2).join('')).toBe('cdef')
  expect(got.length).toBeLessThan(6)
})

test('a client waits from the first piece that is not read', () => {
  const { stream } = feed()

  expect(stream.push(Buffer.alloc(1))).toBe(false)
})

test('a body that is read again for a moment only is handed on for that moment only', async () => {
  const { stream, request } = feed()
  const lengths: number[] = []
  const piece = Buffer.alloc(16 * 1024)
  request.on('data', (chunk) => {
    lengths.push(chunk.length)
    request.pause()
  })
  await new Promise(setImmediate)
  for (let i = 0; i < 12; i++) stream.push(piece)

  request.resume()
  await new Promise(setImmediate)

  expect(lengths).toEqual([16 * 1024, 64 * 1024])
})

test('what came in the packet of the head waits with what came behind it', () => {
  const seen: number[] = []
  const counting = { createBodyWindow: () => ({ consumed() {}, setPending: (bytes: number) => seen.push(bytes) }) }
  const stream = Object.assign(new Readable({ read() {} }), { endAfterHeaders: false })
  stream.push(Buffer.alloc(1000))

  new StreamRequest(stream as unknown as ServerHttp2Stream, [':method', 'POST'], null as never, counting as never)
  stream.push(Buffer.alloc(10))

  expect(seen).toEqual([1010])
})
