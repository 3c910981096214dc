import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemMs } from '../../../../src/core/lib/clock.ts'
import { outOfServiceHandler } from '../../../../src/core/runtime/pipeline/out-of-service.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => vi.useRealTimers())

const rejection = (seconds: string) => ({
  kind: 'refused-by-operator',
  status: 503,
  fields: ['Retry-After', seconds],
})

test('every exchange is rejected, with the time to come again', async () => {
  await expect(outOfServiceHandler(null)(fakeExchange())).rejects.toMatchObject(rejection('60'))
})

test('where the end is known, it is the time to come again, and never at once', async () => {
  const handle = outOfServiceHandler(systemMs() + 90_500)

  await expect(handle(fakeExchange())).rejects.toMatchObject(rejection('91'))
  vi.advanceTimersByTime(90_499)
  await expect(handle(fakeExchange())).rejects.toMatchObject(rejection('1'))
  vi.advanceTimersByTime(110_000)
  await expect(handle(fakeExchange())).rejects.toMatchObject(rejection('1'))
})

test.each([-2, 2])('a wall clock that is set by %d h does not change it', async (hours) => {
  const handle = outOfServiceHandler(systemMs() + 5000)

  vi.setSystemTime(1_000_000 + hours * 3_600_000)

  await expect(handle(fakeExchange())).rejects.toMatchObject(rejection('5'))
})
