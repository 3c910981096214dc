import { describe, expect, test, vi } from 'vitest'
import { BodyCopy } from '../../../../src/core/exchange/bodies/body-copy.ts'
import { bufferRequestBody, bufferResponseBody } from '../../../../src/core/exchange/bodies/buffered-bodies.ts'
import { ResponseBodyQueue } from '../../../../src/core/exchange/bodies/response-bodies.ts'
import type { BodySink, ResponseBody, Upload } from '../../../../src/core/exchange/body.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { FairQuota, usualBodyBytes } from '../../../../src/core/lib/fair-quota.ts'
import { chunkedBody, fakeExchange } from '../../../helpers/exchange.ts'

const createRoom = (): FairQuota => new FairQuota(usualBodyBytes)

describe('of a request', () => {
  test('a part that another copy has taken without copying is not freed with the body', () => {
    const [first, second] = [new BodyCopy(100_000, createRoom()), new BodyCopy(100_000, createRoom())]
    for (const bytes of [10_000, 2000]) first.push(Buffer.alloc(bytes, 'x'))
    second.push(first.bytes)

    first.free()

    expect(second.bytes).toEqual(Buffer.alloc(12_000, 'x'))
  })

  test('a closed copy takes nothing more', () => {
    const room = createRoom()
    const copy = new BodyCopy(100_000, room)
    copy.close()

    expect([copy.push(Buffer.from('a')), copy.bytes.length, room.used]).toEqual([false, 0, 0])
  })

  const readAll = async (upload: Upload): Promise<string> => {
    let text = ''
    for await (const chunk of upload) text += chunk.toString()
    return text
  }

  describe('a body within the bound', () => {
    test('a request body within the bound is read, can be sent repeatedly, and keeps its room until the exchange has finished', async () => {
      const room = createRoom()
      const exchange = fakeExchange({ body: chunkedBody('{"a"', ':1}') })

      const { whole } = await bufferRequestBody(exchange, 100, room)

      expect(whole?.toString()).toBe('{"a":1}')
      const { body } = exchange
      expect([body.replayable, body.length, body.received]).toEqual([true, 7, true])
      for (let i = 0; i < 2; i++) expect(Buffer.concat(await body.read()).toString()).toBe('{"a":1}')
      expect(room.used).toBeGreaterThan(0)
      exchange.finish()
      expect(room.used).toBe(0)
    })

    test('a request body without room is rejected, and the client is told to come again', async () => {
      const room = createRoom()
      while (room.reserve(1024 ** 2)) {}
      room.reserve(0)
      const body = chunkedBody('x'.repeat(2 * 1024 ** 2))

      const error = await bufferRequestBody(fakeExchange({ body }), 4 * 1024 ** 2, room).catch((thrown) => thrown)

      const fields = ['Retry-After', '1']
      expect(error).toMatchObject({ kind: 'overloaded', reason: 'buffered-bodies', fields })
      expect(body.isStopped).toBe(true)
    })
  })

  describe('a body beyond the bound', () => {
    const beyond = async () => {
      const body = chunkedBody('abcd', 'efgh', 'ijkl', 'mn')
      const exchange = fakeExchange({ body })
      return { body, exchange, ...(await bufferRequestBody(exchange, 6, createRoom())) }
    }

    test('a request body beyond the bound streams on from its beginning', async () => {
      const { exchange, whole } = await beyond()

      expect([whole, exchange.body.replayable]).toEqual([null, false])
      expect(await readAll(exchange.body.stream(() => {}))).toBe('abcdefghijklmn')
    })

    test('a request body beyond the bound can be sent to another endpoint while no attempt has read it', async () => {
      const { body, exchange } = await beyond()

      exchange.body.stream(() => {}).stop() // the first endpoint refused the connection

      expect([exchange.body.started, body.isStopped]).toEqual([false, false])
      expect(await readAll(exchange.body.stream(() => {}))).toBe('abcdefghijklmn')
    })

    test('a request body beyond the bound reports its start when an attempt reads it, for the deadline', async () => {
      const { exchange } = await beyond()
      const onStarted = vi.fn()
      exchange.body.onStarted = onStarted

      const chunks = exchange.body.stream(() => {})[Symbol.asyncIterator]()
      expect(onStarted).not.toHaveBeenCalled()
      await chunks.next()

      expect([onStarted.mock.calls.length, exchange.body.started]).toEqual([1, true])
    })

    test('a request body beyond the bound is stopped when no attempt will send it', async () => {
      const { body, stop } = await beyond()

      stop()

      expect(body.isStopped).toBe(true)
    })
  })
})

describe('of a response', () => {
  /** Begins to buffer a body of which these chunks have come; `ended`: these are all. */
  const buffer = (maxBytes: number, chunks: readonly (string | Buffer)[] = [], ended = false, room = createRoom()) => {
    const calls: string[] = []
    const note = (call: string) => () => calls.push(call)
    const body = new ResponseBodyQueue({ pause: note('pause'), resume: note('resume'), cancel: note('cancel') })
    const exchange = fakeExchange()
    const push = (...more: readonly (string | Buffer)[]): void => {
      for (const chunk of more) body.push(Buffer.from(chunk as string))
    }
    push(...chunks)
    if (ended) body.end()
    return { body, push, calls, room, exchange, buffering: bufferResponseBody(body, exchange, maxBytes, room) }
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

  test('a whole response body stays whole when the exchange is aborted before delivery', async () => {
    const { exchange, buffering } = buffer(10, ['abc'], true)
    const buffered = await buffering

    exchange.abort(new GatewayError('content-too-large', { reason: 'body-too-large-streamed' }))

    expect(buffered.body.takeBuffered()?.toString()).toBe('abc')
  })

  describe('a body within the bound', () => {
    test('a response body within the bound is read and delivered, and gives its room back', async () => {
      const { body, push, room, buffering } = buffer(100)
      push('a', 'bc', 'def')
      body.end()

      const buffered = await buffering

      expect(buffered.whole?.toString()).toBe('abcdef')
      expect(room.used).toBeGreaterThan(0)
      const taken = deliver(buffered.body)
      expect([taken.text(), taken.ends, room.used]).toEqual(['abcdef', ['end'], 0])
    })

    test('a response body within the bound goes to a slow client in slices', async () => {
      const text = 'x'.repeat(200_000)
      const { room, buffering } = buffer(1024 ** 2, [text], true)
      const { body } = await buffering

      const taken = sinkOf(1)
      expect(body.takeBuffered()).toBeNull()
      body.consume(taken.sink)

      expect(taken.text()).toHaveLength(64 * 1024)
      while (taken.ends.length === 0) body.resume()
      expect([taken.text() === text, room.used]).toEqual([true, 0])
    })

    test('a response body within the bound gives its room back when its reader has gone', async () => {
      const { room, exchange, buffering } = buffer(1024 ** 2, [Buffer.alloc(200_000)], true)
      const taken = sinkOf(1)
      const { body } = await buffering
      body.consume(taken.sink)

      exchange.abort(new GatewayError('client-gone'))

      expect([room.used, taken.ends]).toEqual([0, ['client-gone']])
    })

    test('a small response body that has come is taken at once', async () => {
      const { room, buffering } = buffer(100, ['{}'], true)

      const { body } = await buffering

      expect([body.takeBuffered()?.toString(), room.used]).toEqual(['{}', 0])
    })

    test('a response body that breaks off rejects with the reason', async () => {
      const { body, room, buffering } = buffer(100, ['{'])
      body.fail(new GatewayError('truncated'))

      await expect(buffering).rejects.toMatchObject({ kind: 'truncated' })
      expect(room.used).toBe(0)
    })
  })

  describe('a body beyond the bound', () => {
    test('a response body beyond the bound streams on from its beginning, at the pace of the client', async () => {
      const { body, push, calls, room, buffering } = buffer(4)
      push('abc', 'def', 'ghi')
      const buffered = await buffering

      expect([buffered.whole, calls.at(-1), room.used]).toEqual([null, 'pause', 0])
      const taken = deliver(buffered.body)
      expect(calls.at(-1)).toBe('resume')
      push('jkl')
      body.end()
      expect([taken.text(), taken.ends]).toEqual(['abcdefghijkl', ['end']])
    })

    test('a response body beyond the bound that came at once is delivered unchanged', async () => {
      const buffered = await buffer(4, ['abcdef'], true).buffering

      expect([buffered.whole, deliver(buffered.body).text()]).toEqual([null, 'abcdef'])
    })

    test('an endless response body is dropped when the process has no room, however small its chunks', async () => {
      const room = createRoom()
      while (room.reserve(1024)) {}
      const taken = room.used
      const { push, calls, buffering } = buffer(1024 ** 2, [], false, room)
      for (let i = 0; i < 2000; i++) push('x')

      await expect(buffering).rejects.toMatchObject({ kind: 'overloaded', reason: 'buffered-bodies' })
      expect([calls.includes('cancel'), room.used]).toEqual([true, taken])
    })
  })
})
