// CVE-2019-9518: frames without a payload, which cost their reader as much as others.
import { expect } from 'vitest'
import { frame, get, head } from '../../helpers/http2.ts'
import { attack, endedFor, floodOf, test, wentOn } from '../../helpers/http2-attack.ts'

const upload = head(1, get('/valuation/score', 'POST'), false)

test.each([
  ['without data', frame(0, 0, 1)],
  ['of padding', frame(0, 8, 1, Buffer.alloc(9, 8))],
])('a flood of DATA %s ends its connection', async (_, data) => {
  const { outcome } = await attack(floodOf(() => [data], upload))

  expect(outcome).toEqual(endedFor('too-many-empty-frames'))
})

// RFC 9113 §6.1 allows them; nginx and HAProxy serve them.
test('a few thousand empty frames do not end the connection', async () => {
  const { outcome } = await attack(async ({ send, frame: received }) => {
    await send(upload, ...Array.from({ length: 3000 }, () => frame(0, 0, 1)), frame(0, 1, 1))
    await received(({ type, stream }) => type === 1 && stream === 1)
  })

  expect(outcome).toEqual(wentOn)
})
