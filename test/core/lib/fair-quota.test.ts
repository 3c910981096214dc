import { expect, test } from 'vitest'
import { BodyCopy } from '../../../src/core/exchange/bodies/body-copy.ts'
import { FairQuota, type QuotaShare } from '../../../src/core/lib/fair-quota.ts'

const mib = 1024 ** 2

/** Takes all that a share gives, in MiB. */
const fill = (share: QuotaShare): number => {
  let taken = 0
  while (share.reserve(mib)) taken++
  return taken
}

test('clients that take all that they can leave room for one more', () => {
  const quota = new FairQuota(64 * mib)

  expect(fill(quota.shareOf('a'))).toBe(32)
  expect(fill(quota.shareOf('a'))).toBe(0)
  expect(fill(quota.shareOf('b'))).toBe(16)
  expect(fill(quota.shareOf('c'))).toBe(8)
  expect(quota.used).toBe(56 * mib)
})

test('what a client gives back is its own again, and the quota knows no client without any', () => {
  const quota = new FairQuota(64 * mib)
  const copy = new BodyCopy(32 * mib, quota.shareOf('a'), 128 * 1024)
  copy.push(Buffer.alloc(20 * mib))
  expect([quota.used, quota.shareOf('a').reserve(20 * mib), quota.shareOf('b').reserve(20 * mib)]).toEqual([
    20 * mib,
    false,
    true,
  ])

  copy.free()
  quota.shareOf('b').release(20 * mib)

  expect([quota.used, quota.owners]).toEqual([0, 0])
  expect(fill(quota.shareOf('a'))).toBe(32)
})

test('clients that come once are not remembered for ever', () => {
  const quota = new FairQuota(64 * mib)
  quota.shareOf('stays').reserve(mib)

  for (let nth = 0; nth < 5000; nth++) {
    const share = quota.shareOf(`client ${nth}`)
    share.reserve(10)
    share.release(10)
  }

  expect([quota.used, quota.owners]).toEqual([mib, 1])
  expect(quota.remembered).toBeLessThanOrEqual(1001)
})
