import { expect, test } from 'vitest'
import type { CandidateConfig } from '../../../src/features/candidate/config/candidate.ts'
import { openShadow, type ShadowResources } from '../../../src/features/candidate/layers/shadow.ts'

test.each([true, false])('copies go to a candidate while an endpoint of it takes requests: %s', (takesRequests) => {
  const candidate = { upstream: {}, shadow: { sample: 1, concurrency: 1, compare: null } }
  const running = { members: [{ receivesTraffic: true, takesRequests, health: { isDown: false } }] }
  const resources = {
    sides: { primary: running, candidate: running },
    open: () => running,
    comparison: null,
  }

  const shadow = openShadow(candidate as unknown as CandidateConfig, resources as unknown as ShadowResources)

  expect(shadow?.isUp()).toBe(takesRequests)
})
