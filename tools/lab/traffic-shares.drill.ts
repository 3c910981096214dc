import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { cases, weightShare } from './traffic-shares-cases.ts'
import { openSimulatedCases } from './traffic-shares-simulated.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

// What chance may add, of some hundred requests and more.
const slack = 0.03

describe.each([
  [1, 5],
  [4, 5],
  [64, 2],
])('with %i requests on their way, for %i s', async (lanes, seconds) => {
  const measure = await openSimulatedCases(root, seconds)

  test.each(cases)('$name: no more than 2 × its share, and than its share when it fails', async (each) => {
    const { watched, all, asked, failed } = await measure(each, lanes)

    const isWell = each.endpoints.every(({ status }) => status < 500)
    expect(watched / all).toBeLessThanOrEqual((isWell ? 2 : 1) * weightShare(each) + slack)
    expect(all).toBeGreaterThan(500)
    // What an endpoint that knows nothing yet is asked at once; where they are tried again, the budget makes good the
    // most of it.
    expect(failed).toBeLessThanOrEqual(each.retry && lanes < 64 ? 0 : lanes / 2 + 0.02 * asked)
  })
})
