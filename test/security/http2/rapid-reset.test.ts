// CVE-2023-44487: each request is given up at once, so few are under way, and the gateway works in vain.
import { expect } from 'vitest'
import { frame, head } from '../../helpers/http2.ts'
import { attack, endedFor, floodOf, test } from '../../helpers/http2-attack.ts'

const cancel = (stream: number): Buffer => frame(3, 0, stream, Buffer.from([0, 0, 0, 8]))

test.each<[string, (nth: number) => Buffer[]]>([
  ['in the same packet', (nth) => [head(2 * nth + 1), cancel(2 * nth + 1)]],
  ['behind the next request', (nth) => [head(2 * nth + 1), cancel(Math.max(1, 2 * nth - 1))]],
])('requests that are given up %s end their connection', async (_, frames) => {
  const { outcome, begun } = await attack(floodOf(frames))

  expect(outcome).toEqual(endedFor('too-many-resets'))
  expect(begun).toBeLessThan(1000)
})
