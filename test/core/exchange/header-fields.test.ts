import { expect, test } from 'vitest'
import { fieldNameEquals, isHopByHop } from '../../../src/core/exchange/header-fields.ts'

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

test.each([
  ['Connection', true],
  ['CONNECTION', true],
  ['keep-Alive', true],
  ['User-Agent', false],
  ['te', true],
  ['TE', true],
  ['upgrade', true],
  ['Trailer', true],
  ['Refresh', false],
  ['Proxy-Authorization', true],
  ['Content-Type', false],
])('%s ends at this hop: %s', (name, ends) => {
  expect(isHopByHop(name)).toBe(ends)
})
