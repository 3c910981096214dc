import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { concurrencyLimitLayer } from '../../../src/features/limits/limits.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

/** Sends so many exchanges, and returns those that are let in. */
const send = async (
  handle: ReturnType<ReturnType<typeof concurrencyLimitLayer>>,
  many: number,
): Promise<readonly Exchange[]> => {
  const exchanges = Array.from({ length: many }, () => fakeExchange())
  const served = await Promise.all(
    exchanges.map((exchange) =>
      handle(exchange).then(
        () => [exchange],
        (error) => {
          expect(error).toMatchObject({ kind: 'overloaded', status: 503, fields: ['Retry-After', '1'] })
          return []
        },
      ),
    ),
  )
  return served.flat()
}

test('the excess is rejected, and never sent', async () => {
  const next = fakeNext()

  const served = await send(concurrencyLimitLayer(3, { inFlight: 0 }, 'limits-concurrency')(next), 5)

  expect([served.length, next.calls]).toEqual([3, 3])
})

test('a response whose end has not been taken still counts; when it has, there is room for one more', async () => {
  const handle = concurrencyLimitLayer(1, { inFlight: 0 }, 'limits-concurrency')(fakeNext())
  const [first] = await send(handle, 1)

  const before = await send(handle, 2)
  first?.finish()
  const after = await send(handle, 2)

  expect([before.length, after.length]).toEqual([0, 1])
})

test('a failed exchange gives its place back at once, and only once', async () => {
  const count = { inFlight: 0 }
  const handle = concurrencyLimitLayer(2, count, 'limits-concurrency')
  await handle(fakeNext())(fakeExchange())
  const exchange = fakeExchange()

  const failed = handle(fakeNext(() => Promise.reject(new GatewayError('connect-failed'))))(exchange)
  await expect(failed).rejects.toMatchObject({ kind: 'connect-failed' })
  exchange.releaseSlots()
  const whileItsErrorIsSent = count.inFlight
  exchange.finish()

  expect([whileItsErrorIsSent, count.inFlight]).toEqual([1, 1])
})

test('an exchange whose client left before it came this far does not count', async () => {
  const count = { inFlight: 0 }
  const exchange = fakeExchange()
  exchange.finish()

  await concurrencyLimitLayer(1, count, 'limits-concurrency')(fakeNext())(exchange)

  expect(count.inFlight).toBe(0)
})

test('a new limit on the same count holds at once, also for what began before it', async () => {
  const count = { inFlight: 0 }
  const began = await send(concurrencyLimitLayer(5, count, 'limits-concurrency')(fakeNext()), 5)
  const narrower = concurrencyLimitLayer(2, count, 'limits-concurrency')(fakeNext())

  const none = await send(narrower, 1)
  for (const exchange of began.slice(0, 4)) exchange.finish()
  const one = await send(narrower, 3)

  expect([none.length, one.length]).toEqual([0, 1])
})

test('in whatever order exchanges come and go, never more than the limit are in flight, and none below it is rejected', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(5), fc.array(fc.nat(9), { maxLength: 60 }), async (limit, moves) => {
      const max = limit + 1
      const handle = concurrencyLimitLayer(max, { inFlight: 0 }, 'limits-concurrency')(fakeNext())
      const running: Exchange[] = []
      for (const move of moves) {
        const ending = move < 4 ? running.splice(move % Math.max(1, running.length), 1)[0] : undefined
        if (ending !== undefined) {
          ending.finish()
          continue
        }
        const before = running.length
        running.push(...(await send(handle, 1)))
        expect(running.length).toBe(Math.min(max, before + 1))
      }
    }),
  )
})
