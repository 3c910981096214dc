import type { KeyPath } from '../../core/config/problem.ts'
import { findOtherUse, listOwnFields } from '../../core/config/rules/own-field.ts'
import { type ConfigRule, isEnabledAt, parseAt, valueAt } from '../../core/config/rules/rule.ts'
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
        message: 'this may happen twice: what the upstream does, a copy has the candidate do as well',
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
    const levels: readonly KeyPath[] = [
      ['upstreams', group, 'candidate', 'request'],
      ['upstreams', group, 'request'],
    ]
    const edits = levels.flatMap((level): readonly KeyPath[] => [
      [...level, 'set'],
      [...level, 'remove'],
    ])
    const found = findOtherUse(tree, field, { fields: listOwnFields(tree), edits })
    return (
      found !== null && {
        path: valueAt(tree, path) === undefined ? shadow : path,
        message: 'the field that marks copies says something else already',
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

export const rules: readonly ConfigRule[] = [exposedTwice, postsTwice, markerTwice]
