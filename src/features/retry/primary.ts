import type { PrimaryFeature } from '../../core/runtime/primary-part.ts'
import { byGroup } from '../../operations.ts'

// A rate needs no rounding: one retry in two seconds is a rate too.
export const divide: Required<PrimaryFeature>['divide'] = ({ upstreams, ...config }, workers) => ({
  ...config,
  upstreams: byGroup((group) => {
    const { retry, ...upstream } = upstreams[group]
    const budget = retry && { ...retry.budget, floor: retry.budget.floor / workers }
    return { ...upstream, retry: retry && budget && { ...retry, budget } }
  }),
})
