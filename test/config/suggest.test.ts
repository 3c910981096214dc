import { distance } from 'fastest-levenshtein'
import { expect, test, vi } from 'vitest'
import { catalog } from '../../src/catalog.ts'
import { nearest } from '../../src/config/suggest.ts'

vi.mock('fastest-levenshtein', { spy: true })

const known = catalog.map(({ path }) => path)

test('a slip or two are taken for what was meant, and more are not', () => {
  expect(nearest('/MARKET/insihgts', known)).toBe('/market/insights')
  expect(nearest('/market/insights-more', known)).toBe('/market/insights')
  expect(nearest('/wp-login.php', known)).toBeUndefined()
})

test('what is longer by more than what is tolerated is not compared: clients choose how long', () => {
  vi.mocked(distance).mockClear()

  expect(nearest(`/${'x'.repeat(199)}`, known)).toBeUndefined()

  expect(distance).not.toHaveBeenCalled()
})
