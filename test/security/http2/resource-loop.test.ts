// CVE-2019-9513: priorities that change all the time, and other frames that the gateway ignores.
import { expect } from 'vitest'
import { frame } from '../../helpers/http2.ts'
import { attack, endedFor, floodOf, test } from '../../helpers/http2-attack.ts'

test.each<[string, string, (nth: number) => Buffer]>([
  ['PRIORITY', 'too-many-priorities', (nth) => frame(2, 0, 3, Buffer.from([0, 0, 0, nth % 2 === 0 ? 5 : 7, 9]))],
  ['PRIORITY_UPDATE', 'too-many-ignored-frames', () => frame(0x10, 0, 0, Buffer.from('\0\0\0\x03u=1'))],
  ['an unknown type', 'too-many-ignored-frames', () => frame(0x77, 0, 0, Buffer.from([1]))],
])('a flood of %s ends its connection', async (_, reason, each) => {
  const { outcome } = await attack(floodOf((nth) => [each(nth)]))

  expect(outcome).toEqual(endedFor(reason))
})
