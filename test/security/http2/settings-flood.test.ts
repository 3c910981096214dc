// CVE-2019-9515: each SETTINGS has to be acknowledged.
import { expect } from 'vitest'
import { frame } from '../../helpers/http2.ts'
import { attack, endedFor, floodOf, test } from '../../helpers/http2-attack.ts'

test.each([
  ['without settings', Buffer.alloc(0)],
  ['with 2,000 settings', Buffer.alloc(12_000, Buffer.from([0, 1, 0, 0, 16, 0]))],
])('a flood of SETTINGS %s ends its connection', async (_, payload) => {
  const { outcome } = await attack(floodOf(() => [frame(4, 0, 0, payload)]))

  expect(outcome).toEqual(endedFor('too-many-settings'))
})

test('a flood of acknowledgments of SETTINGS ends its connection', async () => {
  const { outcome } = await attack(floodOf(() => [frame(4, 1, 0)]))

  expect(outcome).toEqual(endedFor('too-many-ignored-frames'))
})
