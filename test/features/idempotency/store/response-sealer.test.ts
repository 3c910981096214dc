import { expect, test } from 'vitest'
import { createResponseSealer } from '../../../../src/features/idempotency/store/response-sealer.ts'

const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const sealer = createResponseSealer(keys)
const response = Buffer.from('a response to a lender')

test.each([0, 1, 100, 1_000_000])('a response of %i bytes comes back as it was', (length) => {
  const whole = Buffer.alloc(length, 'a')

  expect(sealer.open(sealer.seal(whole, 'context'), 'context')?.equals(whole)).toBe(true)
})

test('the same response is never encrypted in the same way', () => {
  const sealed = [sealer.seal(response, 'context'), sealer.seal(response, 'context')]

  expect(sealed[0]).not.toEqual(sealed[1])
  expect(Buffer.concat(sealed).includes('lender')).toBe(false)
})

test('no nonce comes twice, however many responses are encrypted', () => {
  const nonces = Array.from({ length: 1000 }, () => sealer.seal(response, 'context').toString('hex', 0, 12))

  expect(new Set(nonces).size).toBe(1000)
})

test('a response with any bit that was changed does not open', () => {
  const sealed = sealer.seal(response, 'context')

  const opened = Array.from({ length: 8 * sealed.length }, (_, bit) => {
    const edited = Buffer.from(sealed)
    edited[bit >> 3] = (edited[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return sealer.open(edited, 'context')
  })

  expect(opened.filter((each) => each !== null)).toEqual([])
})

test('a response of another context does not open', () => {
  expect(sealer.open(sealer.seal(response, 'one'), 'other')).toBe(null)
})

test('what is too short to be a response does not open', () => {
  const sealed = sealer.seal(Buffer.alloc(0), 'context')

  for (let length = 0; length < sealed.length; length++)
    expect(sealer.open(sealed.subarray(0, length), 'context')).toBe(null)
})

test('the first key encrypts, and each decrypts', () => {
  const [first, second] = keys.map((key) => createResponseSealer([key]))
  const sealed = sealer.seal(response, 'context')

  expect(first?.open(sealed, 'context')).toEqual(response)
  expect(second?.open(sealed, 'context')).toBe(null)
  expect(sealer.open(second?.seal(response, 'context') ?? sealed, 'context')).toEqual(response)
})

test('a long response is compressed, a short one is as long as it was', () => {
  const long = Buffer.from(JSON.stringify(Array.from({ length: 1000 }, (_, id) => ({ id, state: 'approved' }))))
  const [nonce, tag, mark] = [12, 16, 1]

  expect(sealer.seal(long, 'context').length).toBeLessThan(long.length / 4)
  expect(sealer.seal(response, 'context')).toHaveLength(nonce + tag + mark + response.length)
})
