import { groups } from '../../operations.ts'
import { configSchema } from '../config-schema.ts'
import type { KeyPath } from '../problem.ts'
import { type ConfigRule, parseAt, valueAt } from './rule.ts'

const requestIdField = configSchema.shape.requestId.unwrap().shape.header

/** Rejects a field that is to name the side and is set to something else already. */
const exposedTwice: ConfigRule = (tree) =>
  groups.map((group) => {
    const upstream: KeyPath = ['upstreams', group]
    const path: KeyPath = [...upstream, 'candidate', 'expose']
    const field = valueAt(tree, path)
    if (typeof field !== 'string') return null
    const isField = (name: unknown): boolean => typeof name === 'string' && name.toLowerCase() === field.toLowerCase()
    const issue = {
      path,
      message: 'this field says something else already',
      expected: 'a field of its own',
      hint: 'rename one of the two',
    }
    if (isField(parseAt(tree, requestIdField, ['requestId', 'header'])))
      return { ...issue, found: 'the field of requestId.header' }
    const setting = [upstream, [...upstream, 'candidate']].find((level) =>
      Object.keys(Object(valueAt(tree, [...level, 'response', 'set']) ?? {})).some(isField),
    )
    return setting !== undefined && { ...issue, found: `a field of ${setting.join('.')}.response.set` }
  })

/** The rules of candidates across several keys. */
export const candidateRules: readonly ConfigRule[] = [exposedTwice]
