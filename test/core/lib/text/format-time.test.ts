import { expect, test } from 'vitest'
import { humanizeSeconds } from '../../../../src/core/lib/text/format-time.ts'

test.each([
  [0, '0s'],
  [0.9, '0s'],
  [59.9, '59s'],
  [60, '1m'],
  [61, '1m 1s'],
  [3600, '1h'],
  [90_061, '1d 1h'],
  [86_401, '1d'],
  [-5, '0s'],
])('%d seconds are %s', (seconds, text) => {
  expect(humanizeSeconds(seconds)).toBe(text)
})
