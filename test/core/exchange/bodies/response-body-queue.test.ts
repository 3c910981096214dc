import { expect, test } from 'vitest'
import { ResponseBodyQueue } from '../../../../src/core/exchange/bodies/response-bodies.ts'
import type { BodySink } from '../../../../src/core/exchange/body.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'

/** Creates a queue with a source and a sink that record what happens. */
const createQueue = () => {
  const events: string[] = []
  const queue = new ResponseBodyQueue({
    pause: () => events.push('pause'),
    resume: () => events.push('resume'),
    cancel: () => events.push('cancel'),
  })
  const sink = (flows: (chunk: string) => boolean = () => true): BodySink => ({
    data: (chunk) => {
      events.push(chunk.length > 10 ? `${chunk.length} bytes` : chunk.toString())
      return flows(chunk.toString())
    },
    end: () => events.push('end'),
    fail: ({ kind }) => events.push(kind),
  })
  return { queue, events, sink }
}

const bytes = (text: string): Buffer => Buffer.from(text)

test('a body that has ended is taken whole, in order', () => {
  const { queue, events } = createQueue()
  queue.push(bytes('a'))
  queue.push(bytes('b'))
  queue.end()

  expect(queue.takeBuffered()?.toString()).toBe('ab')
  expect(events).toEqual([])
})

test('a body of one chunk is taken without a copy', () => {
  const { queue } = createQueue()
  const chunk = bytes('a')
  queue.push(chunk)
  queue.end()

  expect(queue.takeBuffered()).toBe(chunk)
})

test('an empty body is taken whole', () => {
  const { queue } = createQueue()
  queue.end()

  expect(queue.takeBuffered()).toEqual(Buffer.alloc(0))
})

test('a body that is still arriving, or has failed, is not whole', () => {
  const arriving = createQueue().queue
  const failed = createQueue().queue
  arriving.push(bytes('a'))
  failed.push(bytes('a'))
  failed.fail(new GatewayError('truncated'))

  expect(arriving.takeBuffered()).toBeNull()
  expect(failed.takeBuffered()).toBeNull()
})

test('chunks that arrived before the sink go first, then later ones, then the end', () => {
  const { queue, events, sink } = createQueue()
  queue.push(bytes('a'))
  queue.push(bytes('b'))
  queue.consume(sink())
  queue.push(bytes('c'))
  queue.end()

  expect(events).toEqual(['a', 'b', 'resume', 'c', 'end'])
})

test('a body that had ended ends at once', () => {
  const { queue, events, sink } = createQueue()
  queue.push(bytes('a'))
  queue.end()
  queue.consume(sink())

  expect(events).toEqual(['a', 'end'])
})

test('the source pauses when a sink is full, and goes on when it says so', () => {
  const { queue, events, sink } = createQueue()
  queue.consume(sink((chunk) => chunk !== 'b'))
  queue.push(bytes('a'))
  queue.push(bytes('b'))
  queue.resume()
  queue.push(bytes('c'))

  expect(events).toEqual(['resume', 'a', 'b', 'pause', 'resume', 'c'])
})

test('the source stays paused when the waiting chunks fill the sink', () => {
  const { queue, events, sink } = createQueue()
  queue.push(bytes('a'))
  queue.consume(sink(() => false))

  expect(events).toEqual(['a', 'pause'])
})

test('64 KiB wait for the sink, then the source pauses', () => {
  const { queue, events, sink } = createQueue()
  queue.push(Buffer.alloc(64 * 1024 - 1))
  const before = [...events]
  queue.push(bytes('a'))
  queue.consume(sink())

  expect(before).toEqual([])
  expect(events).toEqual(['pause', '65535 bytes', 'a', 'resume'])
})

test('a failure before the sink reaches it behind the waiting chunks', () => {
  const { queue, events, sink } = createQueue()
  queue.push(bytes('a'))
  queue.fail(new GatewayError('truncated'))
  queue.consume(sink())

  expect(events).toEqual(['a', 'truncated'])
})

test('a failure after the sink reaches it at once, and nothing follows', () => {
  const { queue, events, sink } = createQueue()
  queue.consume(sink())
  queue.push(bytes('a'))
  queue.fail(new GatewayError('client-gone'))

  expect(events).toEqual(['resume', 'a', 'client-gone'])
})

test('a discarded body cancels its source, and reaches no sink', () => {
  const { queue, events } = createQueue()
  queue.push(bytes('first'))

  queue.discard()
  queue.push(bytes('second'))
  queue.fail(new GatewayError('truncated'))

  expect(events).toEqual(['cancel'])
})
