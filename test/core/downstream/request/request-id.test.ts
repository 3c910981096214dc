import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRequestId, isValidRequestId, randomId } from '../../../../src/core/downstream/request/request-head.ts'

describe('a request id that is created', () => {
  test('is 32 hexadecimal digits, and another each time', () => {
    const ids = Array.from({ length: 2000 }, randomId)

    expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test.each(['hex', 'uuid'] as const)('would be kept if a client sent it: %s', (format) => {
    expect(isValidRequestId(createRequestId[format]())).toBe(true)
  })
})

describe('a request id of a client', () => {
  test.each([
    'a',
    '7f3e9a52-0a3c-4d29-9a41-9d8f3c1b2a10',
    'Root=1-67891233-abcdef012345678912345678',
    'QWxhZGRpbg==',
    'a/b+c~d:e@f_g.h',
    'x'.repeat(128),
  ])('is kept when it is %j', (id) => expect(isValidRequestId(id)).toBe(true))

  test.each([
    '',
    ' ',
    'a b',
    'a,b',
    'a;b',
    '"a"',
    '<a>',
    '{a}',
    '$a',
    'a\r\nb',
    'a\n',
    'a\tb',
    'a\x00',
    'é',
    'x'.repeat(129),
  ])('is replaced when it is %j', (id) => expect(isValidRequestId(id)).toBe(false))

  test('is a token of at most 128 characters, whatever else comes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (id) => {
        const every = [...id].every((char) => /[A-Za-z0-9._~+/=:@-]/.test(char))
        expect(isValidRequestId(id)).toBe(every && id.length > 0 && id.length <= 128)
      }),
    )
  })
})
