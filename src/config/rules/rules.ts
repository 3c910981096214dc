import { configSchema } from '../config-schema.ts'
import type { ConfigIssue } from '../problem.ts'
import { adminRules } from './admin-rules.ts'
import { authRules } from './auth-rules.ts'
import { cacheRules } from './cache-rules.ts'
import { candidateRules } from './candidate-rules.ts'
import { contractRules } from './contract-rules.ts'
import { idempotencyRules } from './idempotency-rules.ts'
import { listenRules } from './listen-rules.ts'
import { mtlsRule, senderConstraintRule } from './proof-of-possession-rules.ts'
import { redisRules } from './redis-rules.ts'
import { applyRules, type ConfigRule, isEnabledAt, parseAt, valueAt } from './rule.ts'
import { shadowRules } from './shadow-rules.ts'
import { upstreamPolicyRule } from './upstream-policy-rules.ts'
import { endpointRules, headerMutationRule } from './upstream-rules.ts'

/** Checks the rules across several keys, on a tree that may be broken. */
export const validateCrossKeyRules = (tree: unknown): readonly ConfigIssue[] => applyRules(rules, tree)

const rotatedStdout: ConfigRule = (tree) =>
  valueAt(tree, ['audit', 'file']) === 'stdout' &&
  isEnabledAt(tree, ['audit', 'rotate']) && {
    path: ['audit', 'rotate'],
    message: 'standard output cannot be rotated by whoever writes to it',
    expected: 'none where audit.file is stdout',
    found: 'a size',
    hint: 'remove this line, or write the path of a file as audit.file',
  }

const shutdown = configSchema.shape.shutdown.unwrap().shape

const shutdownOrder: ConfigRule = (tree) => {
  const wait = parseAt(tree, shutdown.wait, ['shutdown', 'wait'])
  const deadline = parseAt(tree, shutdown.deadline, ['shutdown', 'deadline'])
  return (
    wait !== undefined &&
    deadline !== undefined &&
    wait >= deadline && {
      path: ['shutdown', 'deadline'],
      message: 'the deadline is over before the wait is',
      expected: 'more than shutdown.wait',
      found: 'no more',
      hint: 'the deadline is for the whole shutdown: make it longer than the wait',
    }
  )
}

const rules: readonly ConfigRule[] = [
  ...adminRules,
  ...listenRules,
  ...authRules,
  mtlsRule,
  senderConstraintRule,
  ...cacheRules,
  ...contractRules,
  ...idempotencyRules,
  ...redisRules,
  ...endpointRules,
  ...candidateRules,
  upstreamPolicyRule,
  ...shadowRules,
  rotatedStdout,
  headerMutationRule,
  shutdownOrder,
]
