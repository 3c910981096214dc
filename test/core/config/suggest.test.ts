import { distance } from 'fastest-levenshtein'
import { expect, test, vi } from 'vitest'
import { suggestNearest } from '../../../src/core/config/suggest.ts'
import { allOperations } from '../../../src/operations.ts'

vi.mock('fastest-levenshtein', { spy: true })

const known = allOperations.map(({ path }) => path)

test('a key within a few edits is suggested, and others are not', () => {
  expect(suggestNearest('/MARKET/insihgts', known)).toBe('/market/insights')
  expect(suggestNearest('/market/insights-more', known)).toBe('/market/insights')
  expect(suggestNearest('/wp-login.php', known)).toBeUndefined()
})

test('a text that is too long for a suggestion is not compared: clients choose its length', () => {
  vi.mocked(distance).mockClear()

  expect(suggestNearest(`/${'x'.repeat(199)}`, known)).toBeUndefined()

  expect(distance).not.toHaveBeenCalled()
})
