import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { FairQuota, usualBodyBytes } from '../../../../src/core/lib/fair-quota.ts'
import { AnswerRecorder } from '../../../../src/features/candidate/layers/answer-recorder.ts'

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const bytesOf = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, i) => i % 251))

/** Adds bytes in chunks of a size; returns whether all were read. */
const pushAll = (body: AnswerRecorder, bytes: Buffer, size: number): boolean => {
  for (let at = 0; at < bytes.length; at += size) if (!body.push(bytes.subarray(at, at + size))) return false
  return true
}

describe.each([1, 7, 1000])('in chunks of %i', (size) => {
  test('a body within the bound is kept', () => {
    const body = new AnswerRecorder(1000, new FairQuota(usualBodyBytes))
    const bytes = bytesOf(1000)

    expect(pushAll(body, bytes, size)).toBe(true)

    expect(body.end(null).body).toEqual({ length: 1000, bytes, sha256: null })
  })

  test('a body beyond the bound is hashed as a whole, and takes no room', () => {
    const room = new FairQuota(usualBodyBytes)
    const body = new AnswerRecorder(1000, room)
    const bytes = bytesOf(16_000)

    expect(pushAll(body, bytes, size)).toBe(true)

    expect(body.end(null).body).toEqual({ length: 16_000, bytes: null, sha256: sha256(bytes) })
    expect(room.used).toBe(0)
  })

  test('a body that goes on and on is not read', () => {
    const body = new AnswerRecorder(1000, new FairQuota(usualBodyBytes))

    expect(pushAll(body, bytesOf(20_000), size)).toBe(false)

    expect(body.end(null).body).toMatchObject({ bytes: null, sha256: null })
  })

  test('a body without room is hashed', () => {
    const body = new AnswerRecorder(1000, new FairQuota(0))
    const bytes = bytesOf(100)

    pushAll(body, bytes, size)

    expect(body.end(null).body).toEqual({ length: 100, bytes: null, sha256: sha256(bytes) })
  })
})

test('a body that comes at once is kept, hashed or counted by its length', () => {
  const record = (length: number) => {
    const body = new AnswerRecorder(1000, new FairQuota(usualBodyBytes))
    body.keep(bytesOf(length))
    return body.end(null).body
  }

  expect(record(1000)).toEqual({ length: 1000, bytes: bytesOf(1000), sha256: null })
  expect(record(1001)).toEqual({ length: 1001, bytes: null, sha256: sha256(bytesOf(1001)) })
  expect(record(16_001)).toEqual({ length: 16_001, bytes: null, sha256: null })
})

test('an empty body has no bytes, and is kept', () => {
  expect(new AnswerRecorder(1000, new FairQuota(usualBodyBytes)).end(null).body).toEqual({
    length: 0,
    bytes: Buffer.alloc(0),
    sha256: null,
  })
})

test('what is freed gives its room back', () => {
  const room = new FairQuota(usualBodyBytes)
  const body = new AnswerRecorder(100_000, room)
  pushAll(body, bytesOf(50_000), 1000)
  expect(room.used).toBeGreaterThanOrEqual(50_000)

  body.free()

  expect(room.used).toBe(0)
})
