import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { FairQuota, usualBodyBytes } from '../../../../src/core/lib/fair-quota.ts'
import { ResponseRecorder } from '../../../../src/features/candidate/layers/response-recorder.ts'

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const bytesOf = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, i) => i % 251))

/** Records bytes that come in chunks of a size; returns the body, how much room it takes, and whether all was read. */
const record = (bytes: Buffer, size: number, room = new FairQuota(usualBodyBytes)) => {
  const recorder = new ResponseRecorder(1000, room)
  let isRead = true
  for (let at = 0; at < bytes.length && isRead; at += size) isRead = recorder.push(bytes.subarray(at, at + size))
  return { body: recorder.end(null).body, isRead, used: room.used }
}

describe.each([1, 7, 1000])('in chunks of %i a body', (size) => {
  test.each<[string, number, { readonly isKept: boolean; readonly isHashed: boolean }, FairQuota?]>([
    ['within the bound is kept', 1000, { isKept: true, isHashed: false }],
    ['beyond the bound is hashed as a whole, and takes no room', 16_000, { isKept: false, isHashed: true }],
    ['without room is hashed', 100, { isKept: false, isHashed: true }, new FairQuota(0)],
  ])('%s', (_, length, { isKept, isHashed }, room) => {
    const bytes = bytesOf(length)
    const { body, isRead, used } = record(bytes, size, room)

    expect(body).toEqual({ length, bytes: isKept ? bytes : null, sha256: isHashed ? sha256(bytes) : null })
    expect([isRead, used > 0]).toEqual([true, isKept])
  })

  test('an endless body is not read', () => {
    expect(record(bytesOf(20_000), size)).toMatchObject({ isRead: false, body: { bytes: null, sha256: null } })
  })
})

test('a body that comes at once is kept, hashed or counted by its length', () => {
  const keep = (length: number) => {
    const body = new ResponseRecorder(1000, new FairQuota(usualBodyBytes))
    body.keep(bytesOf(length))
    return body.end(null).body
  }

  expect(keep(1000)).toEqual({ length: 1000, bytes: bytesOf(1000), sha256: null })
  expect(keep(1001)).toEqual({ length: 1001, bytes: null, sha256: sha256(bytesOf(1001)) })
  expect(keep(16_001)).toEqual({ length: 16_001, bytes: null, sha256: null })
})

test('an empty body has no bytes, and is kept', () => {
  expect(record(Buffer.alloc(0), 1).body).toEqual({ length: 0, bytes: Buffer.alloc(0), sha256: null })
})

test('a freed body gives its room back', () => {
  const room = new FairQuota(usualBodyBytes)
  const body = new ResponseRecorder(100_000, room)
  body.push(bytesOf(50_000))
  expect(room.used).toBeGreaterThanOrEqual(50_000)
  body.free()

  expect(room.used).toBe(0)
})
