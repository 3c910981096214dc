import { describe } from 'vitest'
import { policyBench } from './benches/policy.ts'
import { conform } from './conform.ts'

describe('the policy keeps what is required of a shared cache', () => {
  conform(policyBench())
})
