import { groups } from '../../operations.ts'
import type { KeyPath } from '../problem.ts'
import { findOtherUse } from './own-field.ts'
import { type ConfigRule, valueAt } from './rule.ts'

/** Rejects a field that is to name the side and is set to something else already. */
const exposedTwice: ConfigRule = (tree) =>
  groups.map((group) => {
    const upstream: KeyPath = ['upstreams', group]
    const path: KeyPath = [...upstream, 'candidate', 'expose']
    const field = valueAt(tree, path)
    if (typeof field !== 'string') return null
    const found = findOtherUse(tree, field, [
      [...upstream, 'response', 'set'],
      [...upstream, 'candidate', 'response', 'set'],
    ])
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

/** The rules of candidates across several keys. */
export const candidateRules: readonly ConfigRule[] = [exposedTwice]
