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

test('a body that has ended is taken whole, in order, and one chunk without a copy', () => {
  const takeBuffered = (...chunks: readonly Buffer[]) => {
    const { queue } = createQueue()
    for (const chunk of chunks) queue.push(chunk)
    queue.end()
    return queue.takeBuffered()
  }
  const chunk = bytes('a')

  expect(takeBuffered(chunk, bytes('b'))?.toString()).toBe('ab')
  expect(takeBuffered(chunk)).toBe(chunk)
  expect(takeBuffered()).toEqual(Buffer.alloc(0))
})

test('a body that is still arriving, or has failed, is not whole', () => {
  const { queue } = createQueue()
  queue.push(bytes('a'))
  const arriving = queue.takeBuffered()
  queue.fail(new GatewayError('truncated'))

  expect([arriving, queue.takeBuffered()]).toEqual([null, null])
})

// `x!`: the sink is full after x; `!`: full after every chunk; a number: that many bytes.
test.each([
  ['chunks from before the sink go first', 'push a, push b, sink, push c, end', ['a', 'b', 'resume', 'c', 'end']],
  ['a body that had ended ends at once', 'push a, end, sink', ['a', 'end']],
  [
    'the source pauses when a sink is full, and goes on when it says so',
    'sink b!, push a, push b, resume, push c',
    ['resume', 'a', 'b', 'pause', 'resume', 'c'],
  ],
  ['the source stays paused when the waiting chunks fill the sink', 'push a, sink !', ['a', 'pause']],
  ['less than 64 KiB pause no source', 'push 65535', []],
  ['64 KiB pause it before the sink', 'push 65535, push a, sink', ['pause', '65535 bytes', 'a', 'resume']],
  ['a failure before the sink reaches it behind the chunks', 'push a, fail, sink', ['a', 'truncated']],
  ['a failure after the sink reaches it at once', 'sink, push a, fail', ['resume', 'a', 'truncated']],
  ['a discarded body cancels its source, and reaches no sink', 'push a, discard, push b, fail', ['cancel']],
])('%s', (_, steps, expected) => {
  const { queue, events, sink } = createQueue()

  for (const [step, what = ''] of steps.split(', ').map((each) => each.split(' '))) {
    if (step === 'push') queue.push(Number(what) > 0 ? Buffer.alloc(Number(what)) : bytes(what))
    if (step === 'sink')
      queue.consume(sink((chunk) => !what.endsWith('!') || (what !== '!' && !what.startsWith(chunk))))
    if (step === 'fail') queue.fail(new GatewayError('truncated'))
    if (step === 'resume' || step === 'end' || step === 'discard') queue[step]()
  }

  expect(events).toEqual(expected)
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
