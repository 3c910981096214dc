import { describe, expect, test, vi } from 'vitest'
import { BodyCopy } from '../../../../src/core/exchange/bodies/body-copy.ts'
import { bufferRequestBody } from '../../../../src/core/exchange/bodies/buffered-bodies.ts'
import type { Upload } from '../../../../src/core/exchange/body.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { FairQuota, usualBodyBytes } from '../../../../src/core/lib/fair-quota.ts'
import { chunkedBody, fakeExchange } from '../../../helpers/exchange.ts'

test('a part of it that another copy has taken without copying it is not freed with it', () => {
  const [first, second] = [
    new BodyCopy(100_000, new FairQuota(usualBodyBytes)),
    new BodyCopy(100_000, new FairQuota(usualBodyBytes)),
  ]
  for (const bytes of [10_000, 2000]) first.push(Buffer.alloc(bytes, 'x'))
  second.push(first.bytes)

  first.free()

  expect(second.bytes).toEqual(Buffer.alloc(12_000, 'x'))
})

test('a copy that was closed takes nothing any more', () => {
  const room = new FairQuota(usualBodyBytes)
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
  test('is read, and can be sent as often as one likes', async () => {
    const exchange = fakeExchange({ body: chunkedBody('{"a"', ':1}') })

    const { whole } = await bufferRequestBody(exchange, 100, new FairQuota(usualBodyBytes))

    expect(whole?.toString()).toBe('{"a":1}')
    const { body } = exchange
    expect([body.replayable, body.length, body.received]).toEqual([true, 7, true])
    for (let i = 0; i < 2; i++) expect(Buffer.concat(await body.read()).toString()).toBe('{"a":1}')
  })

  test('keeps its room until the exchange has finished', async () => {
    const room = new FairQuota(usualBodyBytes)
    const exchange = fakeExchange({ body: chunkedBody('{"a"', ':1}') })

    await bufferRequestBody(exchange, 100, room)

    expect(room.used).toBeGreaterThan(0)
    exchange.finish()
    expect(room.used).toBe(0)
  })

  test('finds no room where others have taken it, and the client is told to come again', async () => {
    const room = new FairQuota(usualBodyBytes)
    while (room.reserve(1024 ** 2)) {}
    room.reserve(0)
    const body = chunkedBody('x'.repeat(2 * 1024 ** 2))

    const error = await bufferRequestBody(fakeExchange({ body }), 4 * 1024 ** 2, room).catch((thrown) => thrown)

    expect(error).toBeInstanceOf(GatewayError)
    expect([error.kind, error.reason, error.fields, body.isStopped]).toEqual([
      'overloaded',
      'buffered-bodies',
      ['Retry-After', '1'],
      true,
    ])
  })
})

describe('a body beyond the bound', () => {
  test('streams on from its beginning', async () => {
    const exchange = fakeExchange({ body: chunkedBody('abcd', 'efgh', 'ijkl', 'mn') })

    const { whole } = await bufferRequestBody(exchange, 6, new FairQuota(usualBodyBytes))

    expect(whole).toBeNull()
    expect(exchange.body.replayable).toBe(false)
    expect(await readAll(exchange.body.stream(() => {}))).toBe('abcdefghijklmn')
  })

  test('can be sent to another endpoint while none has taken of it', async () => {
    const body = chunkedBody('abcd', 'efgh', 'ij')
    const exchange = fakeExchange({ body })
    await bufferRequestBody(exchange, 6, new FairQuota(usualBodyBytes))

    exchange.body.stream(() => {}).stop() // the first endpoint refused the connection

    expect([exchange.body.started, body.isStopped]).toEqual([false, false])
    expect(await readAll(exchange.body.stream(() => {}))).toBe('abcdefghij')
  })

  test('says that it begins when an attempt takes of it, as the deadline has to know', async () => {
    const exchange = fakeExchange({ body: chunkedBody('abcd', 'efgh', 'ij') })
    await bufferRequestBody(exchange, 6, new FairQuota(usualBodyBytes))
    const onStarted = vi.fn()
    exchange.body.onStarted = onStarted

    const chunks = exchange.body.stream(() => {})[Symbol.asyncIterator]()
    expect(onStarted).not.toHaveBeenCalled()
    await chunks.next()

    expect([onStarted.mock.calls.length, exchange.body.started]).toEqual([1, true])
  })

  test('is given up when no attempt will send it', async () => {
    const body = chunkedBody('abcd', 'efgh', 'ij')
    const { stop } = await bufferRequestBody(fakeExchange({ body }), 6, new FairQuota(usualBodyBytes))

    stop()

    expect(body.isStopped).toBe(true)
  })
})
