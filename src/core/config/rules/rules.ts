import { exposeSchema } from '../../../features/candidate/config/candidate.ts'
import { shadowRules } from '../../../features/candidate/shadow-rules.ts'
import { groups } from '../../../operations.ts'
import { configParts } from '../config-part.ts'
import { coreSchema } from '../core-schema.ts'
import type { ConfigIssue, KeyPath } from '../problem.ts'
import { adminRules } from './admin-rules.ts'
import { listenRules } from './listen-rules.ts'
import { findOtherUse, listOwnFields } from './own-field.ts'
import { applyRules, type ConfigRule, parseAt } from './rule.ts'
import { upstreamPolicyRule } from './upstream-policy-rules.ts'
import { endpointRules, headerMutationRule } from './upstream-rules.ts'

/** Checks the rules across several keys, on a tree that may be broken. */
export const validateCrossKeyRules = (tree: unknown): readonly ConfigIssue[] =>
  applyRules([...rules, ...configParts.flatMap((part) => part.rules ?? [])], tree)

const exposedTwice: ConfigRule = (tree) =>
  groups.map((group) => {
    const upstream: KeyPath = ['upstreams', group]
    const path: KeyPath = [...upstream, 'candidate', 'expose']
    const field = parseAt(tree, exposeSchema, path)
    if (field == null) return null
    const found = findOtherUse(tree, field, {
      // Of the gateway's own fields, responses have this one alone.
      fields: listOwnFields(tree).filter(({ path: [section] }) => section === 'requestId'),
      edits: [
        [...upstream, 'response', 'set'],
        [...upstream, 'candidate', 'response', 'set'],
      ],
    })
    return (
      found !== null && {
        path,
        message: 'this field says something else already',
        expected: 'a field of its own',
        found,
        hint: 'rename one of the two',
      }
    )
  })

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
  exposedTwice,
  upstreamPolicyRule,
  ...shadowRules,
  headerMutationRule,
  shutdownOrder,
]
