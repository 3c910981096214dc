import { describe, expect, test } from 'vitest'
import { bufferResponseBody } from '../../../../src/core/exchange/bodies/buffered-bodies.ts'
import { ResponseBodyQueue } from '../../../../src/core/exchange/bodies/response-bodies.ts'
import type { BodySink, ResponseBody } from '../../../../src/core/exchange/body.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { FairQuota, usualBodyBytes } from '../../../../src/core/lib/fair-quota.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

interface Source {
  readonly body: ResponseBodyQueue
  readonly calls: string[]
}

const source = (): Source => {
  const calls: string[] = []
  const body = new ResponseBodyQueue({
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
    cancel: () => calls.push('cancel'),
  })
  return { body, calls }
}

/** A sink that takes `maxChunks` chunks before it asks to wait. */
const sinkOf = (maxChunks = Number.POSITIVE_INFINITY) => {
  const chunks: Buffer[] = []
  const ends: string[] = []
  const sink: BodySink = {
    data: (chunk) => chunks.push(Buffer.from(chunk)) < maxChunks,
    end: () => ends.push('end'),
    fail: ({ kind }) => ends.push(kind),
  }
  return { sink, ends, text: () => Buffer.concat(chunks).toString() }
}

const deliver = (body: ResponseBody) => {
  const taken = sinkOf()
  body.consume(taken.sink)
  return taken
}

test('a whole body stays whole where the exchange is aborted before the body is asked for', async () => {
  const { body } = source()
  const exchange = fakeExchange({ operation: 'market.insights' })
  body.push(Buffer.from('abc'))
  body.end()

  const buffered = await bufferResponseBody(body, exchange, 10, new FairQuota(usualBodyBytes).shareOf('a'))
  exchange.abort(new GatewayError('content-too-large', { reason: 'body-too-large-streamed' }))

  expect(buffered.body.takeBuffered()?.toString()).toBe('abc')
})

describe('a body within the bound', () => {
  test('is read and delivered, and gives its room back', async () => {
    const { body } = source()
    const room = new FairQuota(usualBodyBytes)
    const buffering = bufferResponseBody(body, fakeExchange(), 100, room)
    for (const text of ['a', 'bc', 'def']) body.push(Buffer.from(text))
    body.end()

    const buffered = await buffering

    expect(buffered.whole?.toString()).toBe('abcdef')
    expect(room.used).toBeGreaterThan(0)
    const taken = deliver(buffered.body)
    expect([taken.text(), taken.ends, room.used]).toEqual(['abcdef', ['end'], 0])
  })

  test('goes to a slow client in slices', async () => {
    const { body } = source()
    const room = new FairQuota(usualBodyBytes)
    const text = 'x'.repeat(200_000)
    const buffering = bufferResponseBody(body, fakeExchange(), 1024 ** 2, room)
    body.push(Buffer.from(text))
    body.end()
    const buffered = await buffering

    const taken = sinkOf(1)
    expect(buffered.body.takeBuffered()).toBeNull()
    buffered.body.consume(taken.sink)

    expect(taken.text()).toHaveLength(64 * 1024)
    while (taken.ends.length === 0) buffered.body.resume()
    expect([taken.text() === text, room.used]).toEqual([true, 0])
  })

  test('gives its room back when its reader is gone, and nothing takes the rest', async () => {
    const { body } = source()
    const [room, exchange] = [new FairQuota(usualBodyBytes), fakeExchange()]
    const buffering = bufferResponseBody(body, exchange, 1024 ** 2, room)
    body.push(Buffer.alloc(200_000))
    body.end()
    const taken = sinkOf(1)
    ;(await buffering).body.consume(taken.sink)

    exchange.abort(new GatewayError('client-gone'))

    expect([room.used, taken.ends]).toEqual([0, ['client-gone']])
  })

  test('is taken at once when it is small and has come', async () => {
    const { body } = source()
    const room = new FairQuota(usualBodyBytes)
    body.push(Buffer.from('{}'))
    body.end()

    const buffered = await bufferResponseBody(body, fakeExchange(), 100, room)

    expect([buffered.body.takeBuffered()?.toString(), room.used]).toEqual(['{}', 0])
  })

  test('that breaks off rejects with why', async () => {
    const { body } = source()
    const room = new FairQuota(usualBodyBytes)
    const buffering = bufferResponseBody(body, fakeExchange(), 100, room)
    body.push(Buffer.from('{'))
    body.fail(new GatewayError('truncated'))

    await expect(buffering).rejects.toMatchObject({ kind: 'truncated' })
    expect(room.used).toBe(0)
  })
})

describe('a body beyond the bound', () => {
  test('streams on from its beginning, at the pace of the client', async () => {
    const { body, calls } = source()
    const room = new FairQuota(usualBodyBytes)
    const buffering = bufferResponseBody(body, fakeExchange(), 4, room)
    for (const text of ['abc', 'def', 'ghi']) body.push(Buffer.from(text))
    const buffered = await buffering

    expect(buffered.whole).toBeNull()
    expect([calls.at(-1), room.used]).toEqual(['pause', 0])
    const taken = deliver(buffered.body)
    expect(calls.at(-1)).toBe('resume')
    body.push(Buffer.from('jkl'))
    body.end()
    expect([taken.text(), taken.ends]).toEqual(['abcdefghijkl', ['end']])
  })

  test('that came at once is delivered as it is', async () => {
    const { body } = source()
    body.push(Buffer.from('abcdef'))
    body.end()

    const buffered = await bufferResponseBody(body, fakeExchange(), 4, new FairQuota(usualBodyBytes))

    expect([buffered.whole, deliver(buffered.body).text()]).toEqual([null, 'abcdef'])
  })

  test('without end is dropped when the process has no room, however small its chunks', async () => {
    const { body, calls } = source()
    const room = new FairQuota(usualBodyBytes)
    while (room.reserve(1024)) {}
    const buffering = bufferResponseBody(body, fakeExchange(), 1024 ** 2, room)
    const taken = room.used
    for (let i = 0; i < 2000; i++) body.push(Buffer.from('x'))

    await expect(buffering).rejects.toMatchObject({ kind: 'overloaded', reason: 'buffered-bodies' })
    expect([calls.includes('cancel'), room.used]).toEqual([true, taken])
  })
})

test('a body that is discarded keeps no room', async () => {
  const { body } = source()
  const room = new FairQuota(usualBodyBytes)
  body.push(Buffer.from('{}'))
  body.end()
  const buffered: { readonly body: ResponseBody } = await bufferResponseBody(body, fakeExchange(), 100, room)

  buffered.body.discard()

  expect(room.used).toBe(0)
})
