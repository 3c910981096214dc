import { expect, test } from 'vitest'
import { Backoff } from '../../src/serving/post.ts'

test('the first end is followed at once, the next ones after a pause that doubles up to 30 s', () => {
  const backoff = new Backoff()

  const pauses = Array.from({ length: 12 }, () => backoff.ended(500))

  expect(pauses).toEqual([0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
})

test('one that lived for a minute is followed at once', () => {
  const backoff = new Backoff()
  for (let n = 0; n < 5; n++) backoff.ended(500)

  expect([backoff.ended(59_999), backoff.ended(60_000), backoff.ended(0)]).toEqual([1600, 0, 100])
})

test('pauses are bounded however often one ends', () => {
  const backoff = new Backoff()
  for (let n = 0; n < 5000; n++) backoff.ended(0)

  expect(backoff.ended(0)).toBe(30_000)
})
