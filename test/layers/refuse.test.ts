import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { refuse } from '../../src/layers/refuse.ts'
import { fakeExchange } from '../helpers/exchange.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => vi.useRealTimers())

const refused = (seconds: string) => ({
  kind: 'refused-by-operator',
  status: 503,
  fields: ['Retry-After', seconds],
})

test('every exchange is refused, and told when to come again', async () => {
  await expect(refuse(null)(fakeExchange())).rejects.toMatchObject(refused('60'))
})

test('where the end is known, that is when to come again, and never at once', async () => {
  const handle = refuse(1_090_500)

  await expect(handle(fakeExchange())).rejects.toMatchObject(refused('91'))
  vi.setSystemTime(1_090_499)
  await expect(handle(fakeExchange())).rejects.toMatchObject(refused('1'))
  vi.setSystemTime(1_200_000)
  await expect(handle(fakeExchange())).rejects.toMatchObject(refused('1'))
})
