import { EventEmitter } from 'node:events'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { WideConnections } from '../../../../src/core/downstream/http2/wide-connections.ts'
import { NodeReceiveWindows } from '../../../../src/features/http2/node/receive-windows.ts'
import { StreamRequest } from '../../../../src/features/http2/node/stream-request.ts'

const windows = new NodeReceiveWindows(
  Object.assign(new EventEmitter(), { setLocalWindowSize() {}, settings() {} }) as unknown as ServerHttp2Session,
  new WideConnections(),
)

const createRequest = (state: { readonly closed: boolean; readonly destroyed: boolean }, endAfterHeaders = false) => {
  const methods = { push: () => true, resume() {}, destroy() {} }
  const stream = Object.assign(new EventEmitter(), { endAfterHeaders, ...methods, ...state })
  const request = new StreamRequest(stream as unknown as ServerHttp2Stream, [':method', 'POST'], null as never, windows)
  let ended = false
  request.consume((chunk) => {
    if (chunk === null) ended = true
  })
  stream.emit('end')
  return { ended, complete: request.complete, rawHeaders: request.rawHeaders }
}

// Node emits the end of a body whose stream was reset before it emits that the stream has closed.
test.each([
  ['open', { closed: false, destroyed: false }, true],
  ['reset', { closed: true, destroyed: false }, false],
  ['destroyed', { closed: true, destroyed: true }, false],
])('the end of a body whose stream is %s', (_, state, whole) => {
  expect(createRequest(state)).toMatchObject({ ended: whole, complete: whole })
})

test('a body without a length is chunked, and a request without a body has no framing field', () => {
  const open = { closed: false, destroyed: false }

  expect(createRequest(open).rawHeaders).toEqual(['transfer-encoding', 'chunked'])
  expect(createRequest(open, true).rawHeaders).toEqual([])
})

const openStream = () => Object.assign(new Readable({ read() {} }), { endAfterHeaders: false })

/** Creates a stream that the test feeds, and the request on it. */
const feed = () => {
  const stream = openStream()
  const request = new StreamRequest(stream as unknown as ServerHttp2Stream, [':method', 'POST'], null as never, windows)
  const chunks: string[] = []
  const listen = () =>
    new Promise<void>((resolve) =>
      request.consume((chunk) => {
        if (chunk === null) resolve()
        else chunks.push(String(chunk))
      }),
    )
  const push = (text: string): boolean[] => [...text].map((letter) => stream.push(Buffer.from(letter)))
  return { stream, request, chunks, listen, push }
}

test('small chunks of a body that is not read yet are joined to one chunk', async () => {
  const { stream, chunks, listen, push } = feed()

  push('abc')
  stream.push(null)
  await listen()

  expect(chunks).toEqual(['abc'])
})

test('small chunks that come during a pause are joined', async () => {
  const { stream, request, chunks, listen, push } = feed()
  const ended = listen()
  push('ab')
  await new Promise(setImmediate)

  request.pause()
  push('cde')
  request.resume()
  push('f')
  stream.push(null)
  await ended

  expect(chunks.slice(0, 2).join('')).toBe('ab')
  expect(chunks.slice(2).join('')).toBe('cdef')
  expect(chunks.length).toBeLessThan(6)
})

test('a client waits from the first chunk that is not read', () => {
  const { stream } = feed()

  expect(stream.push(Buffer.alloc(1))).toBe(false)
})

test('a body that is read for a moment is handed on for that moment only', async () => {
  const { stream, request } = feed()
  const lengths: number[] = []
  const chunk = Buffer.alloc(16 * 1024)
  request.consume((chunk) => {
    lengths.push(chunk?.length ?? 0)
    request.pause()
  })
  await new Promise(setImmediate)
  for (let i = 0; i < 12; i++) stream.push(chunk)

  request.resume()
  await new Promise(setImmediate)

  expect(lengths).toEqual([16 * 1024, 64 * 1024])
})

test('bytes in the packet of the head wait with those behind them', () => {
  const pending: number[] = []
  const windows = { createBodyWindow: () => ({ consumed() {}, setPending: (bytes: number) => pending.push(bytes) }) }
  const stream = openStream()
  stream.push(Buffer.alloc(1000))

  new StreamRequest(stream as unknown as ServerHttp2Stream, [':method', 'POST'], null as never, windows as never)
  stream.push(Buffer.alloc(10))

  expect(pending).toEqual([1010])
})
