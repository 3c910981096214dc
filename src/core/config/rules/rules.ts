import { configParts } from '../config-part.ts'
import { coreSchema } from '../core-schema.ts'
import type { ConfigIssue } from '../problem.ts'
import { adminRules } from './admin-rules.ts'
import { listenRules } from './listen-rules.ts'
import { applyRules, type ConfigRule, parseAt } from './rule.ts'
import { upstreamPolicyRule } from './upstream-policy-rules.ts'
import { endpointRules, headerMutationRule } from './upstream-rules.ts'

/** Checks the rules across several keys, on a tree that may be broken. */
export const validateCrossKeyRules = (tree: unknown): readonly ConfigIssue[] =>
  applyRules([...rules, ...configParts.flatMap((part) => part.rules ?? [])], tree)

const shutdown = coreSchema.shape.shutdown.unwrap().shape

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
  ...endpointRules,
  upstreamPolicyRule,
  headerMutationRule,
  shutdownOrder,
]
