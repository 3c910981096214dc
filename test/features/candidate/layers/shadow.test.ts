import { hash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { WholeBody } from '../../../../src/core/exchange/bodies/buffered-bodies.ts'
import type { RequestBody } from '../../../../src/core/exchange/body.ts'
import type { Exchange, Handler, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

import {
  bodyOf,
  failing,
  kib,
  post,
  responding,
  type Shadowing,
  sending,
  sendResponse,
  serve,
  settled,
  shadowing,
  streamed,
  streaming,
  take,
} from './shadowing.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('a request', () => {
  test('a copy is the request, marked and without credentials', async () => {
    const { layer, copied, counts } = shadowing()
    const exchange = fakeExchange({ query: '?a=%20b', fields: ['Authorization', 'Bearer x', 'X-A', '1'] })
    exchange.trace = { traceId: '0'.repeat(32), attempt: () => null }

    const text = await serve(layer, responding('from the primary'), exchange)

    expect(text).toBe('from the primary')
    const sent = { operation: { id: 'market.insights' }, query: '?a=%20b', fields: ['X-A', '1', 'X-Shadow', '1'] }
    expect(copied).toMatchObject([{ ...sent, onInterim: null, trace: null }])
    expect(exchange.fields).toEqual(['Authorization', 'Bearer x', 'X-A', '1'])
    expect(counts).toMatchObject({ sent: 1, pairs: 1, outcomes: { '2xx': 1 } })
  })

  test('requests of clients on the candidate are not copied, whichever side serves them', async () => {
    const { layer, copied } = shadowing()
    for (const side of ['primary', 'candidate', 'candidate'] as const)
      await serve(layer, sending(), Object.assign(fakeExchange(), { side }))

    expect(copied).toHaveLength(1)
  })

  test('the request is sent before its copy, and no client waits', async () => {
    const never = new Promise<ProxyResponse>(() => {})
    const { layer, copied } = shadowing({ send: sending(() => never) })
    const countCopied = sending(() => sendResponse(`${copied.length} copied`))

    expect([await serve(layer, countCopied), copied.length]).toEqual(['0 copied', 1])
  })

  test('requests beyond the sample are not copied', async () => {
    const random = vi.spyOn(Math, 'random')
    const { layer, counts } = shadowing({ sample: 0.25 })

    for (const drawn of [0, 0.2499, 0.25, 0.9]) {
      random.mockReturnValueOnce(drawn)
      await serve(layer)
    }

    expect(counts.sent).toBe(2)
  })

  test('a request that the primary does not get is not copied', async () => {
    const { layer, counts, held } = shadowing()
    const rejected: Handler = () => Promise.reject(new GatewayError('circuit-open'))
    await expect(serve(layer, rejected)).rejects.toMatchObject({ kind: 'circuit-open' })
    await settled()

    expect(counts).toMatchObject({ sent: 0, pairs: 0 })
    expect(held()).toEqual([0, 0])
  })

  test('a retried request has one copy, with its body once', async () => {
    const { layer, copied } = shadowing()
    const twice = sending((exchange) => {
      exchange.onSent?.()
      return sendResponse()
    })

    await serve(layer, twice, post(new WholeBody(Buffer.from('{"a":1}'))))

    expect(await Promise.all(copied.map(bodyOf))).toEqual(['{"a":1}'])
  })
})

describe('the pair', () => {
  test('a pair has both responses and the request id', async () => {
    const fields = ['Content-Type', 'application/json', 'X-B', '2']
    const { layer, pairs, held } = shadowing({ send: responding('{"a":2}', 201, fields) })

    await serve(layer, responding('{"a":1}', 200, fields), fakeExchange({ fields: ['X-Request-Id', 'id-7'] }))

    const side = (status: number, text: string) => {
      const body = { length: 7, bytes: Buffer.from(text), sha256: null }
      return { headMs: expect.any(Number), fields, failure: null, status, body }
    }
    const request = { operation: 'market.insights', requestId: 'id-7' }
    expect(pairs).toEqual([{ primary: side(200, '{"a":1}'), candidate: side(201, '{"a":2}'), request }])
    expect(held()).toEqual([0, 0])
  })

  test('a pair has hashes of bodies longer than maxBody', async () => {
    const { layer, pairs } = shadowing({ maxBody: kib, send: responding('y'.repeat(4 * kib)) })
    expect(await serve(layer, responding('x'.repeat(3 * kib)))).toHaveLength(3 * kib)

    const hashed = (text: string) => ({ body: { length: text.length, bytes: null, sha256: hash('sha256', text) } })
    expect(pairs).toMatchObject([{ primary: hashed('x'.repeat(3 * kib)), candidate: hashed('y'.repeat(4 * kib)) }])
  })

  test('a pair says how a side failed', async () => {
    const { layer, pairs, counts } = shadowing({ send: failing('reset-before-headers') })
    await expect(serve(layer, failing('headers-timeout'))).rejects.toMatchObject({ kind: 'headers-timeout' })
    await settled()

    const candidate = { status: null, headMs: null, failure: 'reset-before-headers' }
    expect(pairs).toMatchObject([{ primary: { status: null, failure: 'headers-timeout' }, candidate }])
    expect(counts.outcomes.failed).toBe(1)
  })

  test.each([
    ['a client that leaves', true],
    ['a response that is not wanted', false],
  ])('is not handed on after %s', async (_, isRead) => {
    const { layer, counts, held } = shadowing()
    const { body, response } = streamed()

    const handedOn = await layer(sending(() => response()))(fakeExchange())
    body.push(Buffer.from('a part'))
    if (isRead) void take(handedOn)
    if (isRead) body.fail(new GatewayError('client-gone'))
    else handedOn.body.discard()
    await settled()

    expect(counts).toMatchObject({ sent: 1, pairs: 0, outcomes: { '2xx': 1 } })
    expect(held()).toEqual([0, 0])
  })

  test('a comparison that throws harms no exchange', async () => {
    const defect = new Error('a defect')
    const onPair = () => {
      throw defect
    }
    const { layer, held, errors } = shadowing({ onPair })

    expect([await serve(layer), errors, held()]).toEqual(['ok', [defect], [0, 0]])
  })
})

test('a body that streams is in the copy, which goes out when all of it has come', async () => {
  const { layer, copied } = shadowing()
  const body = streaming()
  const { promise, resolve } = Promise.withResolvers<ProxyResponse>()

  const served = layer(sending(() => promise))(post(body))
  body.onData?.(Buffer.from('one '))
  await settled()
  const copiedBefore = copied.length
  body.onData?.(Buffer.from('two'))
  body.onData?.(null)
  resolve(sendResponse())
  await take(await served)
  await settled()

  expect([copiedBefore, await Promise.all(copied.map(bodyOf))]).toEqual([0, ['one two']])
})

describe('goes to the primary alone', () => {
  type Come = (body: ReturnType<typeof streaming>, own: ReturnType<typeof shadowing>) => void
  const withToken = () => fakeExchange({ query: '?a=1&%61ccess_token=secret' })
  const small = () => post(new WholeBody(Buffer.from('{"a":1}')))

  test.each<[string, string, Shadowing, () => Exchange]>([
    ['while no endpoint of the candidate takes it', 'no-endpoint', { isUp: () => false }, fakeExchange],
    ['whose body finds no room', 'no-room', { maxBytes: 3 }, small],
    ['with a token in its query', 'credential-in-query', {}, withToken],
  ])('a request %s: %s', async (_, reason, options, request) => {
    const { layer, counts, pairs } = shadowing(options)
    await serve(layer, sending(), request())

    expect(counts).toMatchObject({ sent: 0, dropped: { [reason]: 1 } })
    expect(pairs).toEqual([])
  })

  test('with credentials: forward, a request with a token in its query is copied', async () => {
    const { layer, counts } = shadowing({ credentials: 'forward' })
    await serve(layer, sending(), withToken())

    expect(counts.sent).toBe(1)
  })

  const tooLong: Come = ({ onData }) => {
    for (const text of ['x', 'y']) onData?.(Buffer.from(text.repeat(60 * kib)))
    onData?.(null)
  }
  const stopped: Come = ({ onData }, { copies }) => {
    onData?.(Buffer.from('a part'))
    copies.applyBounds(null)
    onData?.(null)
  }
  const unfinished: Come = ({ onData }) => {
    onData?.(Buffer.from('a part'))
    throw new GatewayError('client-gone')
  }

  test.each<[string, string, Come, number?]>([
    ['declares more than is copied', 'body-too-large', ({ onData }) => onData?.(null), 101 * kib],
    ['streams more than is copied', 'body-too-large', tooLong],
    ['has not come when the shift is stopped', 'stopped', stopped],
    ['does not come to its end', 'body-unfinished', unfinished],
  ])('a body that %s: %s', async (_, reason, come, length) => {
    const own = shadowing()
    const body = streaming(length)
    const primary = sending(() => {
      come(body, own)
      return sendResponse()
    })

    await serve(own.layer, primary, post(body)).catch(() => {})
    await settled()

    expect(own.counts).toMatchObject({ sent: 0, dropped: { [reason]: 1 } })
    expect([own.pairs, own.held()]).toEqual([[], [0, 0]])
  })

  test('a buffered request whose client leaves is counted as dropped once', async () => {
    const { layer, counts } = shadowing()
    const { promise, reject } = Promise.withResolvers<readonly Buffer[]>()
    const body: RequestBody = { ...streaming(), replayable: true, read: () => promise }

    await expect(serve(layer, failing('client-gone'), post(body))).rejects.toMatchObject({ kind: 'client-gone' })
    reject(new GatewayError('client-gone'))
    await settled()

    expect(counts).toMatchObject({ sent: 0, dropped: { 'body-unfinished': 1 } })
  })
})
