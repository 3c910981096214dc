import { isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isValidHost } from '../../../../src/core/downstream/request/validate-request.ts'

describe('a valid host', () => {
  test.each([
    'a',
    'A.b-c',
    'a_b',
    '127.0.0.1',
    '1.2.3.4.5',
    'a:',
    'a:0',
    'a:80',
    'a:65535',
    '[::1]',
    '[::1]:8080',
    '[::ffff:1.2.3.4]',
    'a%20b',
    "!$&'()*+;=",
    'xn--bcher-kva.example',
  ])('is %j', (value) => expect(isValidHost(value)).toBe(true))

  test.each([
    '',
    ' ',
    'a ',
    ' a',
    'a b',
    ':',
    ':80',
    'a:b',
    'a:-1',
    'a:+1',
    'a:65536',
    'a:100000',
    'a:1:2',
    'a,b',
    'a, a',
    'u@a',
    'a/b',
    'a?b',
    'a#b',
    'a\\b',
    'a%',
    'a%2',
    'a%zz',
    '::1',
    '[]',
    '[::1',
    '::1]',
    '[::1]a',
    '[::1]:x',
    '[1.2.3.4]',
    '[::1%25lo]',
    '[v1.a]',
    'é',
    'a\x00',
    'a\r\n',
    'a\n',
    '"a"',
    '<a>',
    'http://a',
  ])('is not %j', (value) => expect(isValidHost(value)).toBe(false))

  test('may have any port up to 65535', () => {
    fc.assert(
      fc.property(fc.nat(99_999), (port) => {
        expect(isValidHost(`a:${port}`)).toBe(port <= 65_535)
      }),
    )
  })

  test('is any IPv6 address in brackets, and never without them', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        expect(isValidHost(`[${address}]`)).toBe(isIPv6(address))
        expect(isValidHost(address)).toBe(false)
      }),
    )
  })

  test('is any domain name, and none with userinfo', () => {
    fc.assert(
      fc.property(fc.domain(), (name) => {
        expect(isValidHost(name)).toBe(true)
        expect(isValidHost(`user@${name}`)).toBe(false)
      }),
    )
  })

  test('never holds what could end the field, the authority or a log line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        if (/[^!-~]|[@/\\?#,"<>^`{|}]/.test(value)) expect(isValidHost(value)).toBe(false)
      }),
    )
  })
})
