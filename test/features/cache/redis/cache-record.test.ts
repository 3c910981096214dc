import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CacheRequest } from '../../../../src/features/cache/policy/cache-request.ts'
import { type StoredHead, withContentLength } from '../../../../src/features/cache/policy/stored-head.ts'
import {
  decodeRecord,
  encodeRecord,
  type RecordKey,
  toStoredHead,
} from '../../../../src/features/cache/redis/cache-record.ts'
import { StoredBody } from '../../../../src/features/cache/store/stored-response.ts'
import { at, createRequest, createStoredHead, noon, rules } from '../policy/helper.ts'

const key: RecordKey = {
  ...{ operation: 'leads.pipeline', shape: 'shape', client: 'bank-a' },
  ...{ site: 'https://gateway.example', query: '?a=1' },
}

const request = createRequest(['Accept', 'text/plain'])
const varied = ['ETag', '"1"', 'Vary', 'Accept']
const responseFields = ['Cache-Control', 'max-age=60, stale-if-error=600', ...varied, 'Date', at(-5)]
const body = Buffer.from('body')

const complete = (head: StoredHead, body: Buffer): StoredHead => withContentLength(head, body.length) ?? head

const stored = (fields: readonly string[], body: Buffer): StoredHead =>
  complete(createStoredHead([...fields], { request: ['Accept', 'text/plain'] }), body)

/** Reads a record as a gateway does that has it `ageMs` after it was written. */
const read = (head: Buffer, body: Buffer, now = noon, ageMs = 0, by: CacheRequest = request): StoredHead | null => {
  const record = decodeRecord(key, head, body)
  return record && toStoredHead({ record, body: new StoredBody(body), ageMs, now }, by, rules())
}

const bodies = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))

// With obs-text: a byte a character.
const values = fc
  .array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff })), { maxLength: 30 })
  .map((codes) => String.fromCharCode(...codes))

const responses = fc.record({
  maxAge: fc.integer({ min: 0, max: 1e6 }),
  dated: fc.boolean(),
  age: fc.integer({ min: 0, max: 1000 }),
  more: fc.array(fc.tuple(fc.stringMatching(/^x-[a-z]{1,8}$/), values), { maxLength: 5 }),
})

describe('a record', () => {
  test('read at once is what was written, whatever it was', () => {
    fc.assert(
      fc.property(responses, bodies, ({ maxAge, dated, age, more }, body) => {
        const fields = ['Cache-Control', `max-age=${maxAge}`, ...varied, 'Age', `${age}`, ...more.flat()]
        const head = stored(dated ? [...fields, 'Date', at(-5)] : fields, body)

        expect(read(encodeRecord(key, head, body, noon), body)).toEqual(head)
      }),
    )
  })

  const record = encodeRecord(key, stored(responseFields, body), body, noon)

  test('belongs to one key and no other', () => {
    expect(decodeRecord(key, record, body)).not.toBeNull()
    for (const name of Object.keys(key) as (keyof RecordKey)[])
      expect(decodeRecord({ ...key, [name]: 'another' }, record, body)).toBeNull()
  })

  test('is not for a request that does not select it', () => {
    expect(read(record, body, noon, 0, createRequest(['Accept', 'text/html']))).toBeNull()
  })

  test('damaged in a bit, or cut short, is none, and nothing throws', () => {
    const body = Buffer.from('a body of some length')
    const record = encodeRecord(key, stored(responseFields, body), body, noon)
    const flipped = (bytes: Buffer, bit: number): Buffer => {
      const copy = Buffer.from(bytes)
      copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      return copy
    }

    for (let bit = 0; bit < record.length * 8; bit++) expect(decodeRecord(key, flipped(record, bit), body)).toBeNull()
    for (let bit = 0; bit < body.length * 8; bit++) expect(decodeRecord(key, record, flipped(body, bit))).toBeNull()
    for (let end = 0; end < record.length; end++) expect(decodeRecord(key, record.subarray(0, end), body)).toBeNull()
    for (let end = 0; end < body.length; end++) expect(decodeRecord(key, record, body.subarray(0, end))).toBeNull()
  })
})

const lie = (what: object, body: Buffer): Buffer => {
  const valid = encodeRecord(key, stored(responseFields, body), body, noon).toString()
  const head = { ...JSON.parse(valid.slice(8)), ...what }
  // The checksum has no secret: a client that can write a record can write a sound one.
  const { crc32 } = process.getBuiltinModule('node:zlib')
  const text = JSON.stringify(head)
  return Buffer.from(crc32(text, crc32(body)).toString(16).padStart(8, '0') + text)
}

describe('a forged record', () => {
  test('that changes nothing is accepted', () => {
    expect(read(lie({}, body), body)).not.toBeNull()
  })

  test.each<[string, object]>([
    ['an end of a line in a value', { fields: [...responseFields, 'X', 'a\r\nSet-Cookie: b'] }],
    ['an end of a line in a name', { fields: [...responseFields, 'X\r\nY', 'a'] }],
    ['a field without a value', { fields: [...responseFields, 'X'] }],
    ['a field of the connection', { fields: [...responseFields, 'Transfer-Encoding', 'chunked'] }],
    ['fields that are none', { fields: 'text' }],
    ['numbers for fields', { fields: [1, 2] }],
    ['another length', { fields: [...responseFields, 'Content-Length', '5'] }],
    ['what must not be stored', { fields: [...responseFields, 'Cache-Control', 'no-store'] }],
    ['what is one client’s', { fields: [...responseFields, 'Cache-Control', 'private'] }],
    ['a cookie', { fields: [...responseFields, 'Set-Cookie', 'a=b'] }],
    ['another Vary', { fields: ['Cache-Control', 'max-age=60', 'Vary', 'Accept-Language', 'Date', at(0)] }],
    ['a status that is none', { status: 99 }],
    ['a status of a part', { status: 206 }],
    ['a status that is text', { status: '200' }],
    ['a reason with an end of a line', { reason: 'OK\r\nX: y' }],
    ['a time that is none', { receivedAt: 'now' }],
    ['a time before time', { receivedAt: -1 }],
    ['a time beyond all dates', { writtenAt: 1e300 }],
    ['an age that is none', { initialAgeMs: null }],
    ['a list for a record', { of: [] }],
    ['nothing for a record', { of: null }],
  ])('with %s is not', (_, what) => {
    expect(read(lie(what, body), body)).toBeNull()
  })
})

describe('the age of a found response', () => {
  const head = stored(responseFields, body)

  test('counts how long it was there, by the reader’s own clock', () => {
    // Arrived at noon, 5 s old, written 2 s later; there for 10 s; this gateway's clock is an hour behind the writer's,
    // or ahead of it.
    for (const now of [noon - 3_600_000, noon, noon + 3_600_000]) {
      const found = read(encodeRecord(key, head, body, noon + 2000), body, now, 10_000)

      const until = { freshUntil: now + 43_000, staleIfErrorUntil: now + 643_000 }
      expect(found).toMatchObject({ bornAt: now - 17_000, ...until, date: head.date })
    }
  })

  test('counts the time until it was written by the monotonic clock of the writer', () => {
    const uptime = 60_000
    const received = { ...head, receivedAt: uptime, bornAt: uptime - 5000, receivedEpoch: noon }
    const found = read(encodeRecord(key, received, body, uptime + 2000), body, noon, 10_000)

    expect(found).toMatchObject({ bornAt: noon - 17_000, freshUntil: noon + 43_000, receivedEpoch: noon })
  })

  test('is never less than when it was written, whatever the clocks say', () => {
    const found = read(encodeRecord(key, head, body, noon - 60_000), body, noon, -60_000)

    expect(found).toMatchObject({ receivedAt: noon, bornAt: noon - 5000 })
  })
})
