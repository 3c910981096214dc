/** Requests that the primary gets twice, in place of a copy, so that its noise is learnt. */
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ResponseBodyQueue } from '../../../../src/core/exchange/bodies/response-bodies.ts'
import type { Exchange, Handler, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { shadowLayer } from '../../../../src/features/candidate/layers/shadow.ts'
import { createShadowCopies } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import { createDeferredWork } from '../../../../src/features/contract/check-queue.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

/** A response of which the whole body has come. */
const answer = (text: string): ProxyResponse => {
  const body = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  body.push(Buffer.from(text))
  body.end()
  return { status: 200, reason: '', fields: [], body }
}

const sending =
  (text: string): Handler =>
  async (exchange) => {
    exchange.onSent?.()
    return answer(text)
  }

// So long after the first the second one goes out.
const waitMs = 1100

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => vi.useRealTimers())

/** Creates the layer, and notes where requests go and what is compared; `again` sends to the primary once more. */
const repeating = (isTaken: boolean, again: Handler = sending('again'), concurrency = 10) => {
  const [copied, repeated, pairs]: readonly [Exchange[], Exchange[], string[]] = [[], [], []]
  const counted: string[] = []
  const copies = createShadowCopies(
    createDeferredWork(() => {}),
    createDeferredWork(() => {}),
  )
  copies.applyBounds({ concurrency, maxBytes: 1024 ** 2 })
  const noting =
    (list: Exchange[], send: Handler): Handler =>
    (exchange) => {
      list.push(exchange)
      return send(exchange)
    }
  const layer = shadowLayer({
    ...{ sample: 1, timeout: 30_000, maxBody: 1024, requestIdField: null },
    ...{ marker: 'X-Shadow', credentials: 'remove' as const, credentialFields: [], keptFields: [], copies },
    send: noting(copied, sending('of the candidate')),
    isUp: () => true,
    onPair: (_, { body }) => void pairs.push(`candidate: ${body.bytes}`),
    repeats: {
      wants: () => isTaken,
      onSend: (operation) => void counted.push(operation),
      afterMs: waitMs,
      send: noting(repeated, again),
      isUp: () => true,
      onPair: ({ body }, second) => void pairs.push(`${body.bytes}, ${second.failure ?? second.body.bytes}`),
    },
  })
  return { layer, copies, copied, repeated, counted, pairs }
}

const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await setImmediate()
}

const fields = ['Authorization', 'Bearer a', 'X-A', '1', 'x_shadow', '0']

/** Sends one request and takes its response, as a client does. */
const exchangeOne = async (layer: ReturnType<typeof repeating>['layer'], query = ''): Promise<void> => {
  const { body } = await layer(sending('once'))(fakeExchange({ fields, query }))
  body.takeBuffered()
  await settled()
  vi.advanceTimersByTime(waitMs)
  await settled()
}

test('go to the primary with all fields and the marker, and not to the candidate', async () => {
  const { layer, copied, repeated, pairs } = repeating(true)

  await exchangeOne(layer, '?access_token=a')

  expect(copied).toEqual([])
  expect(repeated.map(({ fields: own, query }) => [own, query])).toEqual([
    [['Authorization', 'Bearer a', 'X-A', '1', 'X-Shadow', '1'], '?access_token=a'],
  ])
  expect(pairs).toEqual(['once, again'])
})

test('go out when a time in seconds is another, and not before', async () => {
  const { layer, repeated, copies } = repeating(true)
  const { body } = await layer(sending('once'))(fakeExchange({}))
  body.takeBuffered()
  await settled()

  vi.advanceTimersByTime(waitMs - 1)
  await settled()
  const before = [repeated.length, copies.report().underWay]
  vi.advanceTimersByTime(1)
  await settled()

  expect([...before, repeated.length, copies.report().underWay]).toEqual([0, 1, 1, 0])
})

test('count when they go out, and not when the primary was never sent the first', async () => {
  const { layer, counted } = repeating(true)
  const refuse: Handler = () => Promise.reject(new GatewayError('connect-failed'))

  await layer(refuse)(fakeExchange({ fields })).catch(() => {})
  await settled()
  const before = [...counted]
  await exchangeOne(layer)

  expect([before, counted]).toEqual([[], ['market.insights']])
})

test('are four at most that are on their way or wait, however many requests come at once', async () => {
  const { layer, copies, repeated } = repeating(true, () => new Promise(() => {}))

  const responses = await Promise.all(Array.from({ length: 9 }, () => layer(sending('once'))(fakeExchange({ fields }))))
  for (const { body } of responses) body.takeBuffered()
  await settled()
  vi.advanceTimersByTime(waitMs)
  await settled()

  expect([repeated.length, copies.repeating()]).toEqual([4, 4])
})

test('are counted apart from copies', async () => {
  const { layer, copies } = repeating(true)

  await exchangeOne(layer)

  expect(copies.report()).toMatchObject({ sent: 0, pairs: 0, repeated: 1, underWay: 0, outcomes: { '2xx': 0 } })
})

test('share the bounds of copies: there is none while as many as may are under way', async () => {
  const { layer, copies, repeated } = repeating(true, () => new Promise(() => {}), 1)

  await exchangeOne(layer)
  await exchangeOne(layer)

  expect([repeated.length, copies.report().repeated, copies.report().underWay]).toEqual([1, 1, 1])
  expect(copies.report().dropped.full).toBe(0)
})

test('that fail are pairs too, which teach nothing, and no client hears of it', async () => {
  const { layer, pairs } = repeating(true, () => Promise.reject(new GatewayError('connect-failed')))

  await exchangeOne(layer)

  expect(pairs).toEqual(['once, connect-failed'])
})

test('that are not taken are copies', async () => {
  const { layer, copied, repeated, pairs } = repeating(false)

  await exchangeOne(layer)

  expect([copied.length, repeated.length]).toEqual([1, 0])
  expect(pairs).toEqual(['candidate: of the candidate'])
})

test('end with the process', async () => {
  const { layer, copies, repeated } = repeating(true, () => new Promise(() => {}))
  await exchangeOne(layer)

  copies.stop()

  expect(repeated[0]?.aborted?.kind).toBe('overloaded')
  expect(copies.report().underWay).toBe(0)
})

test('that fail say nothing of the candidate: its copies go out as before', async () => {
  const { layer, copies, repeated } = repeating(true, async (exchange) => {
    exchange.onSent?.()
    throw new GatewayError('reset-before-headers')
  })

  for (let n = 0; n < 6; n++) await exchangeOne(layer)

  expect(repeated).toHaveLength(6)
  expect([copies.backoff.take(), copies.backoff.take()]).toEqual([true, true])
})
