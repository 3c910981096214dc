import { expect, test } from 'vitest'
import { PendingPurges } from '../../../../src/layers/cache/redis/pending-purges.ts'

/** Is a Redis that is told, or is not there; what it is told it hears when the test says so. */
const scripted = (isThere: boolean) => {
  const redis = { isThere, told: [] as (readonly string[])[], hear: (): void => {} }
  const owed = new PendingPurges(['all'], (keys) => {
    redis.told.push(keys)
    const { isThere: hears } = redis
    return new Promise((resolve) => {
      redis.hear = () => resolve(hears)
    })
  })
  return { redis, owed }
}

test('what is not heard is owed, and told again when somebody looks', async () => {
  const { redis, owed } = scripted(false)
  const added = owed.add(['a', 'b'])
  redis.hear()
  expect(await added).toBe(false)

  redis.isThere = true
  expect(owed.has(['x'])).toBe(false) // of what is not owed it is no matter
  expect(owed.has(['x', 'b'])).toBe(true)
  redis.hear()
  await Promise.resolve()
  await Promise.resolve()

  expect(redis.told).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ])
  expect(owed.has(['a', 'b'])).toBe(false)
})

test('what is owed again while it is told stays owed', async () => {
  const { redis, owed } = scripted(true)
  const first = owed.add(['a'])
  const { hear } = redis
  redis.isThere = false
  const second = owed.add(['a'])
  hear()
  expect(await first).toBe(true)

  expect(owed.has(['a'])).toBe(true)
  redis.hear()
  expect(await second).toBe(false)
})

test('more than can be remembered is everything', async () => {
  const { redis, owed } = scripted(false)
  const added = owed.add(Array.from({ length: 10_001 }, (_, n) => `key ${n}`))
  redis.hear()
  await added

  expect(owed.has(['key 1'])).toBe(false)
  expect(owed.has(['all', 'key 1'])).toBe(true)
})
