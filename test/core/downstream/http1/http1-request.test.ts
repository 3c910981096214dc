import { expect, test } from 'vitest'
import { Http1Request } from '../../../../src/core/downstream/http1/http1-request.ts'

const KiB = 1024

/** Creates a POST whose connection notes when it is held back. */
const createRequest = (length: number | null = null) => {
  const flow = { isPaused: false }
  const message = { method: 'POST', target: '/', version: '1.1', fields: [], length, isPersistent: true }
  const request = new Http1Request(message, null as never, {
    pause: () => {
      flow.isPaused = true
    },
    resume: () => {
      flow.isPaused = false
    },
  })
  return { request, flow }
}

/** Collects what is handed on; `null` is the end. */
const collect = (request: Http1Request): (string | null)[] => {
  const chunks: (string | null)[] = []
  request.consume((chunk) => void chunks.push(chunk === null ? null : String(chunk)))
  return chunks
}

test('a body is handed on as it comes, and its end once', () => {
  const { request } = createRequest()
  const chunks = collect(request)

  request.receive(Buffer.from('a'))
  request.receive(Buffer.from('b'))
  request.receive(null)
  request.resume()

  expect(chunks).toEqual(['a', 'b', null])
  expect(request.complete).toBe(true)
})

test('what comes before it is asked for is held, and handed on first', () => {
  const { request } = createRequest()

  request.receive(Buffer.from('a'))
  const chunks = collect(request)
  request.receive(Buffer.from('b'))
  request.receive(null)

  expect(chunks).toEqual(['a', 'b', null])
})

test('of a body that is not asked for, the client is held back at 64 KiB', () => {
  const { request, flow } = createRequest()

  request.receive(Buffer.alloc(63 * KiB))
  const before = flow.isPaused
  request.receive(Buffer.alloc(KiB))

  expect([before, flow.isPaused]).toEqual([false, true])
})

test('a consumer that pauses gets nothing more, and the rest in order when it goes on', () => {
  const { request, flow } = createRequest()
  const chunks = collect(request)

  request.pause()
  request.receive(Buffer.from('a'))
  request.receive(null)
  const during = [...chunks]
  request.resume()

  expect([during, chunks]).toEqual([[], ['a', null]])
  expect(flow.isPaused).toBe(false)
})

test('a consumer can pause between two pieces of what was held', () => {
  const { request } = createRequest()
  request.receive(Buffer.alloc(16 * KiB))
  request.receive(Buffer.alloc(16 * KiB))
  const lengths: number[] = []

  request.consume((chunk) => {
    lengths.push(chunk?.length ?? 0)
    request.pause()
  })

  expect(lengths).toEqual([16 * KiB])
})

test('the connection reads on when a body is complete, though its consumer pauses', () => {
  const { request, flow } = createRequest()
  collect(request)
  request.pause()

  request.receive(null)

  expect(flow.isPaused).toBe(false)
})

test('a body that was discarded is never handed on: a part of it would pass for the whole', () => {
  const { request } = createRequest()

  request.receive(Buffer.from('a'))
  request.discardUnasked()
  const chunks = collect(request)
  request.receive(Buffer.from('b'))
  request.receive(null)

  expect(chunks).toEqual([])
  expect(request.complete).toBe(true)
})

test('a body that was asked for is not discarded with its response', () => {
  const { request } = createRequest()
  const chunks = collect(request)

  request.discardUnasked()
  request.receive(Buffer.from('a'))

  expect(chunks).toEqual(['a'])
})
