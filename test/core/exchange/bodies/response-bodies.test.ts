import { describe, expect, test } from 'vitest'
import { BytesBody, ResponseBodyQueue } from '../../../../src/core/exchange/bodies/response-bodies.ts'
import type { BodySink, ResponseBody } from '../../../../src/core/exchange/body.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { sliceBytes } from '../../../../src/core/lib/buffers.ts'
import { pseudoRandomBytes } from '../../../helpers/wire.ts'

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

type Rig = ReturnType<typeof createQueue>

test.each<[string, (rig: Rig) => void, readonly string[]]>([
  [
    'chunks that arrived before the sink go first, then later ones, then the end',
    ({ queue, sink }) => {
      queue.push(bytes('a'))
      queue.push(bytes('b'))
      queue.consume(sink())
      queue.push(bytes('c'))
      queue.end()
    },
    ['a', 'b', 'resume', 'c', 'end'],
  ],
  [
    'a body that had ended ends at once',
    ({ queue, sink }) => {
      queue.push(bytes('a'))
      queue.end()
      queue.consume(sink())
    },
    ['a', 'end'],
  ],
  [
    'the source pauses when a sink is full, and goes on when it says so',
    ({ queue, sink }) => {
      queue.consume(sink((chunk) => chunk !== 'b'))
      queue.push(bytes('a'))
      queue.push(bytes('b'))
      queue.resume()
      queue.push(bytes('c'))
    },
    ['resume', 'a', 'b', 'pause', 'resume', 'c'],
  ],
  [
    'the source stays paused when the waiting chunks fill the sink',
    ({ queue, sink }) => {
      queue.push(bytes('a'))
      queue.consume(sink(() => false))
    },
    ['a', 'pause'],
  ],
  ['less than 64 KiB pause no source', ({ queue }) => queue.push(Buffer.alloc(64 * 1024 - 1)), []],
  [
    '64 KiB wait for the sink, then the source pauses',
    ({ queue, sink }) => {
      queue.push(Buffer.alloc(64 * 1024 - 1))
      queue.push(bytes('a'))
      queue.consume(sink())
    },
    ['pause', '65535 bytes', 'a', 'resume'],
  ],
  [
    'a failure before the sink reaches it behind the waiting chunks',
    ({ queue, sink }) => {
      queue.push(bytes('a'))
      queue.fail(new GatewayError('truncated'))
      queue.consume(sink())
    },
    ['a', 'truncated'],
  ],
  [
    'a failure after the sink reaches it at once',
    ({ queue, sink }) => {
      queue.consume(sink())
      queue.push(bytes('a'))
      queue.fail(new GatewayError('client-gone'))
    },
    ['resume', 'a', 'client-gone'],
  ],
  [
    'a discarded body cancels its source, and reaches no sink',
    ({ queue }) => {
      queue.push(bytes('first'))
      queue.discard()
      queue.push(bytes('second'))
      queue.fail(new GatewayError('truncated'))
    },
    ['cancel'],
  ],
])('%s', (_, act, expected) => {
  const rig = createQueue()

  act(rig)

  expect(rig.events).toEqual(expected)
})

describe('a body of bytes', () => {
  const read = (body: ResponseBody, takes: number) => {
    const pieces: Buffer[] = []
    let [left, ended] = [takes, 0]
    body.consume({
      data: (piece) => {
        pieces.push(piece)
        return --left > 0
      },
      end: () => void ended++,
      fail: () => {},
    })
    return { pieces, ended: () => ended }
  }

  test('a body is handed on in slices, as they are taken, and ends once', () => {
    const whole = pseudoRandomBytes(sliceBytes * 3 + 1)
    const body = new BytesBody(whole)

    const { pieces, ended } = read(body, 2)
    const before = [pieces.length, ended()]
    for (let i = 0; i < 5; i++) body.resume()

    expect(before).toEqual([2, 0])
    expect([Buffer.concat(pieces).equals(whole), ended()]).toEqual([true, 1])
    expect(Math.max(...pieces.map(({ length }) => length))).toBe(sliceBytes)
  })

  test('a discarded body is not handed on', () => {
    const body = new BytesBody(pseudoRandomBytes(sliceBytes * 3))
    const { pieces, ended } = read(body, 1)

    body.discard()
    body.resume()

    expect([pieces.length, ended()]).toEqual([1, 0])
  })
})
