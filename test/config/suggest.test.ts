import { distance } from 'fastest-levenshtein'
import { expect, test, vi } from 'vitest'
import { suggestNearest } from '../../src/config/suggest.ts'
import { allOperations } from '../../src/operations.ts'

vi.mock('fastest-levenshtein', { spy: true })

const known = allOperations.map(({ path }) => path)

test('a slip or two are taken for what was meant, and more are not', () => {
  expect(suggestNearest('/MARKET/insihgts', known)).toBe('/market/insights')
  expect(suggestNearest('/market/insights-more', known)).toBe('/market/insights')
  expect(suggestNearest('/wp-login.php', known)).toBeUndefined()
})

test('what is longer by more than what is tolerated is not compared: clients choose how long', () => {
  vi.mocked(distance).mockClear()

  expect(suggestNearest(`/${'x'.repeat(199)}`, known)).toBeUndefined()

  expect(distance).not.toHaveBeenCalled()
})
