import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AttemptThrottle, throttlesByAddress } from '../../../../src/core/admin/access/attempt-throttle.ts'
import { TokenRejections } from '../../../../src/core/admin/access/operator-tokens.ts'
import { logInMemory } from '../../../helpers/gateway.ts'

const limit = { policy: 'test', perMs: 2 / 1000, burst: 5 }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('attempts are five at once and then two a second', () => {
  const throttle = new AttemptThrottle(limit)

  const atOnce = Array.from({ length: 7 }, () => throttle.tryAcquire())
  vi.advanceTimersByTime(1000)
  const later = Array.from({ length: 3 }, () => throttle.tryAcquire())

  expect(atOnce).toEqual([null, null, null, null, null, 1, 1])
  expect(later).toEqual([null, null, 1])
})

test('what was right does not count', () => {
  const throttle = new AttemptThrottle(limit)

  for (let n = 0; n < 20; n++) {
    expect(throttle.tryAcquire()).toBeNull()
    throttle.refund()
  }
})

test('an address has its own count, and a network of IPv6 has one', () => {
  const throttleOf = throttlesByAddress({ ...limit, burst: 1 })
  const attempt = (address: string) => throttleOf(address).tryAcquire()

  const all = ['10.0.0.1', '10.0.0.1', '10.0.0.2', '2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'].map(attempt)

  expect(all).toEqual([null, 1, null, null, 1, null])
})

test('of addresses it knows a thousand: the one that has tried nothing for longest makes room', () => {
  const throttleOf = throttlesByAddress({ ...limit, burst: 1 })
  const first = throttleOf('10.9.9.9')

  for (let i = 0; i < 1024; i++) throttleOf(`10.0.${i >> 8}.${i & 255}`)

  expect(throttleOf('10.9.9.9')).not.toBe(first)
})

test('of wrong tokens, the log has twenty of an address at once and then two a second', () => {
  const { log, lines } = logInMemory()
  const rejections = new TokenRejections(log)
  const reject = (times: number): void => {
    for (let n = 0; n < times; n++) rejections.logIfAllowed('10.0.0.1', 'unknown-token', 'there is none')
  }

  reject(30)
  const atOnce = lines.length
  vi.advanceTimersByTime(1000)
  reject(5)

  expect([atOnce, lines.length]).toEqual([20, 22])
})
