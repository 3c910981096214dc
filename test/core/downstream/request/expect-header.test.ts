import { expect, test } from 'vitest'
import { parseExpectation } from '../../../../src/core/downstream/request/request-head.ts'

const parse = (field: string | null, httpVersion = '1.1') => parseExpectation(field, httpVersion)

test.each(['100-continue', '100-Continue', ' 100-continue ', '100-continue, 100-continue', ', 100-continue,'])(
  'a client that sends Expect: %j waits for 100 Continue',
  (value) => expect(parse(value)).toBe('continue'),
)

test.each(['x', '100', '100-continued', '100-continue;a=b', '100-continue, x', '"100-continue"', '200-ok'])(
  'Expect: %j is unknown',
  (value) => expect(parse(value)).toBe('unknown'),
)

test.each([null, '', ' ', ',', ' , ,'])('a client that sends Expect: %j expects nothing', (value) => {
  expect(parse(value)).toBe('none')
})

test.each(['100-continue', 'x'])('HTTP/1.0 has no expectations, not even %j', (value) => {
  expect(parse(value, '1.0')).toBe('none')
})
