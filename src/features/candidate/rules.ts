import type { OwnField } from '../../core/config/config-part.ts'
import { formatKeyPath, type KeyPath } from '../../core/config/problem.ts'
import { type ConfigRule, isEnabledAt, listAt, parseAt, valueAt } from '../../core/config/rules/rule.ts'
import { findField, listOwnFields } from '../../core/config/rules/upstream-rules.ts'
import { foldUnderscores } from '../../core/exchange/header-fields.ts'
import { isPlainObject } from '../../core/lib/plain-object.ts'
import { allOperations, type Group, groups } from '../../operations.ts'
import { exposeSchema } from './config/candidate.ts'
import { shadowKeys } from './config/candidate-shadow.ts'

const shadowAt = (group: Group): KeyPath => ['upstreams', group, 'candidate', 'shadow']

const postsTwice: ConfigRule = (tree) =>
  groups.map((group) => {
    const path = shadowAt(group)
    const written = allOperations.filter((each) => each.group === group && each.method === 'POST')
    if (written.length === 0 || parseAt(tree, shadowKeys.shape.posts, [...path, 'posts']) !== true) return null
    return (
      valueAt(tree, [...path, 'sideEffects']) === undefined && {
        path: [...path, 'posts'],
        message: 'a copied POST is processed twice: by the upstream, and by the candidate',
        expected: `sideEffects: none beside it, for ${written.map(({ id }) => id).join(', ')}`,
        found: 'no sideEffects',
        hint: 'add sideEffects: none if nothing that the candidate does lasts, or remove posts',
      }
    )
  })

const markerTwice: ConfigRule = (tree) =>
  groups.map((group) => {
    const shadow = shadowAt(group)
    const path: KeyPath = [...shadow, 'marker']
    const field = isEnabledAt(tree, shadow) ? parseAt(tree, shadowKeys.shape.marker, path) : undefined
    if (field === undefined) return null
    const levels = [[group, 'candidate'], [group]].map((level) => ['upstreams', ...level, 'request'])
    const edits = levels.flatMap((level) => ['set', 'remove'].map((key) => [...level, key]))
    const found = findOtherUse(tree, field, listOwnFields(tree), edits)
    return (
      found !== null && {
        path: valueAt(tree, path) === undefined ? shadow : path,
        message: 'the field that marks copies is used already',
        expected: 'a field of its own as shadow.marker',
        found,
        hint: 'rename one of the two',
      }
    )
  })

const exposedTwice: ConfigRule = (tree) =>
  groups.map((group) => {
    const upstream: KeyPath = ['upstreams', group]
    const path: KeyPath = [...upstream, 'candidate', 'expose']
    const field = parseAt(tree, exposeSchema, path)
    if (field == null) return null
    // Of the gateway's own fields, only the request id is in responses.
    const fields = listOwnFields(tree).filter(({ path: [section] }) => section === 'requestId')
    const edits = [[], ['candidate']].map((level) => [...upstream, ...level, 'response', 'set'])
    const found = findOtherUse(tree, field, fields, edits)
    return (
      found !== null && {
        path,
        message: 'this field is used already',
        expected: 'a field of its own',
        found,
        hint: 'rename one of the two',
      }
    )
  })

export const rules: readonly ConfigRule[] = [exposedTwice, postsTwice, markerTwice]

const findOtherUse = (
  tree: unknown,
  name: string,
  fields: readonly OwnField[],
  edits: readonly KeyPath[],
): string | null => {
  const own = findField(fields, name)
  if (own !== undefined) return `the field of ${formatKeyPath(own.path)}`
  const folded = foldUnderscores(name)
  const isField = (each: unknown): boolean => typeof each === 'string' && foldUnderscores(each) === folded
  const edit = edits.find((path) => {
    const value = valueAt(tree, path)
    return (isPlainObject(value) ? Object.keys(value) : listAt(tree, path)).some(isField)
  })
  return edit === undefined ? null : `a field of ${edit.join('.')}`
}
