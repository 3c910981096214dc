// Heads that open no request cost as much as others, but no limit on requests counts them.
import { expect } from 'vitest'
import { get, head } from '../../helpers/http2.ts'
import { attack, endedFor, floodOf, test } from '../../helpers/http2-attack.ts'

test('malformed heads end their connection, and each has a line in the log until then', async () => {
  const { outcome, begun, lines } = await attack(
    floodOf((nth) => [head(2 * nth + 1, [...get(), 'connection', 'close'])]),
  )

  expect(outcome).toEqual(endedFor('broken-stream', 'too-many-rejected-heads'))
  expect(begun).toBe(0)
  const malformed = lines.filter(({ reason }) => reason === 'broken-stream')
  expect(malformed[0]).toMatchObject({ status: 400, cause: 'the field connection, which is of HTTP/1' })
  expect(malformed.length).toBeLessThan(1000)
})

test('heads of more streams than may be open end their connection', async () => {
  const upload = (nth: number): Buffer => head(2 * nth + 1, get('/valuation/score', 'POST'), false)

  const { outcome, begun } = await attack(floodOf((nth) => [upload(nth)]))

  expect(outcome).toEqual(endedFor('too-many-rejected-heads'))
  expect(begun).toBeLessThanOrEqual(100)
})
