import { allOperations, groups } from '../../operations.ts'
import type { WarningRule } from '../rules/rule.ts'

/** Warns of words about POSTs in groups that have none, and of a promise that is not used. */
const unusedPostWords: WarningRule = ({ config: { upstreams } }) =>
  groups.map((group) => {
    const shadow = upstreams[group].candidate?.shadow ?? null
    if (shadow === null) return null
    const hasPosts = allOperations.some((each) => each.group === group && each.method === 'POST')
    const path = ['upstreams', group, 'candidate', 'shadow']
    if (shadow.posts)
      return (
        !hasPosts && {
          path: [...path, 'posts'],
          message: 'this does nothing: the group has no POST',
          expected: 'false',
          found: 'true',
          hint: 'remove this line',
        }
      )
    return (
      shadow.sideEffects !== null && {
        path: [...path, 'sideEffects'],
        message: 'this does nothing: no POST is copied',
        expected: hasPosts ? 'posts: true beside it' : 'no sideEffects',
        found: 'no posts',
        hint: hasPosts ? 'add posts: true, or remove this line' : 'remove this line',
      }
    )
  })

/** The warnings of shadows. */
export const shadowWarnings: readonly WarningRule[] = [unusedPostWords]
