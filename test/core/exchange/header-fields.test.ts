import { describe, expect, test } from 'vitest'
import { fieldNameEquals, isHopByHop } from '../../../src/core/exchange/header-fields.ts'
import { formatHttpDate, parseHttpDate } from '../../../src/core/exchange/http1/http-date.ts'

test.each([
  ['host', 'host', true],
  ['HOST', 'host', true],
  ['Via', 'via', true],
  ['_Key', '_key', true],
  ['X_Key', 'x_key', true],
  ['^Key', '^key', true],
  ['Most', 'host', false],
  ['Hose', 'host', false],
  ['Host-', 'host', false],
  ['Hos', 'host', false],
  ['\x7fkey', '_key', false], // no field name, and one bit from being taken for one
  ['', '', true],
  ['', 'host', false],
])('%j is %j: %s', (name, lower, same) => {
  expect(fieldNameEquals(name, lower)).toBe(same)
})

test('fields of the connection end at this hop, in any case', () => {
  const ending = ['Connection', 'CONNECTION', 'keep-Alive', 'te', 'TE', 'upgrade', 'Trailer', 'Proxy-Authorization']

  expect([...ending, 'User-Agent', 'Refresh', 'Content-Type'].filter(isHopByHop)).toEqual(ending)
})

describe('dates', () => {
  const now = Date.UTC(2026, 10, 22)
  const example = Date.UTC(1994, 10, 6, 8, 49, 37)

  describe('a date', () => {
    test.each([
      ['Sun, 06 Nov 1994 08:49:37 GMT', example],
      ['Sunday, 06-Nov-94 08:49:37 GMT', example],
      ['Sun Nov  6 08:49:37 1994', example],
      ['Sun Nov 06 08:49:37 1994', example],
      [' Sun, 06 Nov 1994 08:49:37 GMT\t', example],
      ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
      ['Wed, 29 Feb 2028 23:59:59 GMT', Date.UTC(2028, 1, 29, 23, 59, 59)],
      ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2017, 0, 1)],
      ['Mon, 06 Nov 1994 08:49:37 GMT', example],
      ['sun, 06 nov 1994 08:49:37 gmt', example],
      ['SUNDAY, 06-NOV-94 08:49:37 GMT', example],
      ['sun nov  6 08:49:37 1994', example],
      ['Sat, 01 Jan 0050 00:00:00 GMT', new Date('0050-01-01T00:00:00Z').getTime()],
    ])('a date is read from %j', (text, ms) => {
      expect(parseHttpDate(text, now)).toBe(ms)
    })

    test.each([
      ['76', 2076],
      ['77', 1977],
      ['99', 1999],
      ['26', 2026],
      ['00', 2000],
    ])('the two-digit year %s is read as %d: at most fifty years ahead', (digits, year) => {
      expect(parseHttpDate(`Sunday, 01-Nov-${digits} 00:00:00 GMT`, now)).toBe(Date.UTC(year, 10, 1))
    })
  })

  describe('no date', () => {
    test.each([
      ...['', '0', '-1', '784111777', '1994-11-06T08:49:37Z', 'Sun, 06 Nov 1994 08:49:37'],
      ...['Sun, 06 Nov 1994 08:49:37 UTC', 'Sun, 06 Nov 1994 08:49:37 +0000', 'Sun, 6 Nov 1994 08:49:37 GMT'],
      ...['Sun, 06  Nov 1994 08:49:37 GMT', 'Sun 06 Nov 1994 08:49:37 GMT', 'Sun, 06-Nov-1994 08:49:37 GMT'],
      ...['Sun, 06 Nov 94 08:49:37 GMT', 'Sun, 06 Nov 1994 8:49:37 GMT', 'Sun, 06 Nov 1994 24:00:00 GMT'],
      ...['Sun, 06 Nov 1994 08:60:37 GMT', 'Sun, 06 Nov 1994 08:49:61 GMT', 'Sun, 00 Nov 1994 08:49:37 GMT'],
      ...['Sun, 31 Nov 1994 08:49:37 GMT', 'Tue, 29 Feb 2027 00:00:00 GMT'],
      ...['Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT', 'Sun, 06-Nov-94 08:49:37 GMT'],
      ...['Sun Nov 6 08:49:37 1994', 'Sun Nov  6 08:49:37 1994 GMT'],
    ])('%j is no date', (text) => {
      expect(parseHttpDate(text, now)).toBeNull()
    })
  })

  test.each([0, 784_111_777, 253_402_300_799])('a written date is parsed as the same second: %d', (seconds) => {
    expect(parseHttpDate(formatHttpDate(seconds * 1000 + 999), now)).toBe(seconds * 1000)
  })
})
