import { expect, onTestFinished, test, vi } from 'vitest'
import { ChunkQueue } from '../../../../src/core/downstream/body/chunk-queue.ts'
import { ClientBody } from '../../../../src/core/downstream/body/client-body.ts'
import { Http1Request } from '../../../../src/core/downstream/http1/http1-request.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { isExclusive, takeExclusively } from '../../../../src/core/lib/buffers.ts'
import { pseudoRandomBytes } from '../../../helpers/wire.ts'

const createRequest = (length: number | null): Http1Request => {
  const message = { method: 'POST', target: '/', version: '1.1', fields: [], length, isPersistent: true }
  return new Http1Request(message, null as never, { pause: () => {}, resume: () => {} })
}

const createBody = (length: number | null, request = createRequest(length)): ClientBody => {
  const timeouts = { headers: 1000, body: null, keepAlive: 1000 }
  return new ClientBody(request, { writeContinue: (onSent) => onSent() }, length, true, { timeouts, minRate: null })
}

/** Begins to read a body that is sent in these parts. */
const readBody = async (...parts: readonly Buffer[]) => {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const request = createRequest(length)
  const body = createBody(length, request)
  const reading = body.read()
  for (const part of [...parts, null]) request.receive(part)
  return { body, read: await reading }
}

const begin = (body: ClientBody) =>
  body
    .stream(() => {})
    [Symbol.asyncIterator]()
    .next()

test('a streaming body does not begin before its first chunk is requested, however often it was prepared', () => {
  const body = createBody(null)

  body.stream(() => {}).stop()
  const before = body.started
  void begin(body)

  expect([before, body.started]).toEqual([false, true])
})

test('a small body begins when it is read', () => {
  const body = createBody(10)

  const before = body.started
  void body.read()

  expect([before, body.started]).toEqual([false, true])
})

test('the buffers of a read body can be freed', async () => {
  const { body, read } = await readBody(Buffer.alloc(32 * 1024), Buffer.alloc(32 * 1024))
  const bytes = (): number => read.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const before = bytes()

  body.freeBuffers()

  expect([before, bytes()]).toEqual([64 * 1024, 0])
})

test('a body that is stopped before its reader begins fails that reader too', async () => {
  const reason = new GatewayError('client-gone')
  const [read, streamed] = [createBody(10), createBody(null)]
  for (const body of [read, streamed]) body.abort(reason)

  await expect(read.read()).rejects.toBe(reason)
  await expect(begin(streamed)).rejects.toBe(reason)

  expect([read.started, streamed.started]).toEqual([false, false])
})

test('chunks read before the body is stopped can be read again', async () => {
  const { body } = await readBody(Buffer.from('abc'))

  body.abort(new GatewayError('client-gone'))

  expect(Buffer.concat(await body.read()).toString()).toBe('abc')
})

test('the timeout of a body begins when its client has got 100 Continue', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const writeContinue = vi.fn((_onSent: () => void) => {})
  const timeouts = { headers: 1000, body: 1000, keepAlive: 1000 }
  const body = new ClientBody(createRequest(10), { writeContinue }, 10, false, { timeouts, minRate: null })
  const reading = body.read().catch(({ reason }) => reason)
  const failed = vi.fn()
  body.onFailure = failed

  vi.advanceTimersByTime(5000)
  expect(failed).not.toHaveBeenCalled()
  writeContinue.mock.calls[0]?.[0]()
  vi.advanceTimersByTime(990)
  expect(failed).not.toHaveBeenCalled()
  vi.advanceTimersByTime(20)

  expect(await reading).toBe('body-stalled')
})

/** Cuts a body into chunks that share its memory. */
const cut = (body: Buffer, sizes: readonly number[]): Buffer[] => {
  let at = 0
  return sizes.map((size) => {
    at += size
    return body.subarray(at - size, at)
  })
}

test('chunks come out as one body, whatever their sizes and however they are taken', () => {
  const sizes = Array.from({ length: 500 }, (_, n) => [1, 5000, 3, 1023, 1024, 20_000, 0][n % 7] ?? 0)
  const body = pseudoRandomBytes(sizes.reduce((sum, size) => sum + size, 0))
  const queue = new ChunkQueue()
  const taken: Buffer[] = []

  cut(body, sizes).forEach((chunk, n) => {
    queue.push(chunk)
    if (n % 11 === 0) taken.push(queue.take(4096))
  })
  while (queue.bytes > 0) taken.push(queue.take(4096))

  expect(Buffer.concat(taken).equals(body)).toBe(true)
  expect(taken.every(({ length }) => length <= 64 * 1024)).toBe(true)
})

test.each([
  ['is copied: its sender reuses the memory', (packet: Buffer) => packet.subarray(100), 1],
  ['that has its memory alone is kept', (packet: Buffer) => takeExclusively(packet, 100), 0],
])('a chunk %s', (_, createChunk, kept) => {
  const queue = new ChunkQueue()
  const packets = Array.from({ length: 10 }, () => Buffer.alloc(20_000, 1))

  for (const packet of packets) queue.push(createChunk(packet))
  for (const packet of packets) packet.fill(0)

  expect(Buffer.concat(queue.takeAll()).equals(Buffer.alloc(10 * 19_900, kept))).toBe(true)
})

test('a body of a known length comes out in one chunk, in memory of its own', () => {
  const queue = new ChunkQueue(60_000)
  for (let n = 0; n < 4; n++) queue.push(Buffer.alloc(15_000, n))

  const chunks = queue.takeAll()

  expect(chunks.map((chunk) => [chunk.length, chunk.buffer.byteLength, isExclusive(chunk)])).toEqual([
    [60_000, 60_000, true],
  ])
})

test.each([1, 100, 1000, 10_000])(
  'a queue of 64 KiB that gets only %i bytes holds little more than those bytes',
  (bytes) => {
    const queue = new ChunkQueue(64 * 1024)

    queue.push(Buffer.alloc(bytes))

    const held = queue.takeAll().reduce((sum, { buffer }) => sum + buffer.byteLength, 0)
    expect(held).toBeLessThanOrEqual(Math.max(4096, 8 * bytes))
  },
)

test('clear removes all chunks', () => {
  const queue = new ChunkQueue()
  for (const letter of 'abc') queue.push(Buffer.from(letter))

  queue.clear()
  queue.push(Buffer.from('d'))

  expect(queue.bytes).toBe(1)
  expect(queue.takeAll().map(String)).toEqual(['d'])
})
