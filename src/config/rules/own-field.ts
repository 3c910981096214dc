import { foldUnderscores } from '../../header-fields.ts'
import { configSchema } from '../config-schema.ts'
import type { KeyPath } from '../problem.ts'
import { type ConfigRule, parseAt, valueAt } from './rule.ts'

/** The schema of `requestId.header`. */
export const requestIdField = configSchema.shape.requestId.unwrap().shape.header

/**
 * Finds what else the file says about a field that is to be the gateway's own: the request id, or one of the edits at
 * `places`. Names are compared as a CGI-like back end reads them. Null: nothing.
 */
export const findOtherUse = (tree: Parameters<ConfigRule>[0], field: string, places: readonly KeyPath[]) => {
  const folded = foldUnderscores(field)
  const isField = (name: unknown): boolean => typeof name === 'string' && foldUnderscores(name) === folded
  if (isField(parseAt(tree, requestIdField, ['requestId', 'header']))) return 'the field of requestId.header'
  const place = places.find((path) => namesAt(tree, path).some(isField))
  return place === undefined ? null : `a field of ${place.join('.')}`
}

/** Lists the names of a map of fields, or of a list of them. */
const namesAt = (tree: Parameters<ConfigRule>[0], path: KeyPath): readonly unknown[] => {
  const value = valueAt(tree, path)
  return Array.isArray(value) ? value : Object.keys(Object(value ?? {}))
}
