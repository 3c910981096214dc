import { allOperations, type Group, groups } from '../../operations.ts'
import { configSchema } from '../config-schema.ts'
import type { KeyPath } from '../problem.ts'
import { shadowKeys } from '../sections/candidate/candidate-shadow.ts'
import { type ConfigRule, isEnabledAt, listAt, parseAt, valueAt } from './rule.ts'

const requestIdField = configSchema.shape.requestId.unwrap().shape.header

const shadowAt = (group: Group): KeyPath => ['upstreams', group, 'candidate', 'shadow']

/** Rejects copies of POSTs where the file does not say that the candidate does nothing that lasts. */
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

/** Rejects a marker that is set to something else, or removed, on the way to the candidate. */
const markerTwice: ConfigRule = (tree) =>
  groups.map((group) => {
    const shadow = shadowAt(group)
    const path: KeyPath = [...shadow, 'marker']
    const field = isEnabledAt(tree, shadow) ? parseAt(tree, shadowKeys.shape.marker, path) : undefined
    if (field === undefined) return null
    const isField = (name: unknown): boolean => typeof name === 'string' && name.toLowerCase() === field.toLowerCase()
    const issue = {
      path: valueAt(tree, path) === undefined ? shadow : path,
      message: 'the field that marks copies says something else already',
      expected: 'a field of its own as shadow.marker',
      hint: 'rename one of the two',
    }
    if (isField(parseAt(tree, requestIdField, ['requestId', 'header'])))
      return { ...issue, found: 'the field of requestId.header' }
    const upstream: KeyPath = ['upstreams', group]
    const editing = [[...upstream, 'candidate'], upstream]
      .map((level) => [...level, 'request'])
      .find((level) =>
        [...Object.keys(Object(valueAt(tree, [...level, 'set']) ?? {})), ...listAt(tree, [...level, 'remove'])].some(
          isField,
        ),
      )
    return editing !== undefined && { ...issue, found: `a field of ${editing.join('.')}` }
  })

/** The rules of shadows across several keys. */
export const shadowRules: readonly ConfigRule[] = [postsTwice, markerTwice]
