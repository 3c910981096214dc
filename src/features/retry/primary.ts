import type { PrimaryFeature } from '../../core/runtime/primary-part.ts'
import { byGroup } from '../../operations.ts'

// A rate needs no rounding: of one retry a second, each of two workers has one every two seconds.
export const divide: Required<PrimaryFeature>['divide'] = ({ upstreams, ...config }, workers) => ({
  ...config,
  upstreams: byGroup((group) => {
    const { retry, ...upstream } = upstreams[group]
    const budget = retry && { ...retry.budget, floor: retry.budget.floor / workers }
    return { ...upstream, retry: retry && budget && { ...retry, budget } }
  }),
})
