import { foldUnderscores } from '../../exchange/header-fields.ts'
import { isPlainObject } from '../../lib/plain-object.ts'
import { configParts, type OwnField } from '../config-part.ts'
import { coreSchema } from '../core-schema.ts'
import { formatKeyPath, type KeyPath } from '../problem.ts'
import { listAt, parseAt, valueAt } from './rule.ts'

const requestIdField = coreSchema.shape.requestId.unwrap().shape.header

/** Lists the fields of requests that the gateway reads or writes itself, whatever the operation. */
export const listOwnFields = (tree: unknown): readonly OwnField[] => {
  const ofFeatures = configParts.flatMap((part) => part.ownFields?.(tree) ?? [])
  const path = ['requestId', 'header']
  const name = parseAt(tree, requestIdField, path)
  const says = 'carries the request id'
  return [
    ...ofFeatures.filter(({ isFixed }) => isFixed),
    ...(name == null ? [] : [{ path, name, says, isInResponses: true as const }]),
    ...ofFeatures.filter(({ isFixed }) => !isFixed),
  ]
}

/** Finds a field by its name, as a CGI-like back end reads names. */
export const findField = (fields: readonly OwnField[], name: string): OwnField | undefined => {
  const folded = foldUnderscores(name)
  return fields.find((field) => foldUnderscores(field.name) === folded)
}

interface OtherUses {
  readonly fields: readonly OwnField[]
  /** Maps and lists of the fields that are edited. */
  readonly edits: readonly KeyPath[]
}

/** Finds what else the file says about a field that is to be the gateway's own; null: nothing. */
export const findOtherUse = (tree: unknown, name: string, { fields, edits }: OtherUses): string | null => {
  const own = findField(fields, name)
  if (own !== undefined) return `the field of ${formatKeyPath(own.path)}`
  const folded = foldUnderscores(name)
  const isField = (each: unknown): boolean => typeof each === 'string' && foldUnderscores(each) === folded
  const edit = edits.find((path) => namesAt(tree, path).some(isField))
  return edit === undefined ? null : `a field of ${edit.join('.')}`
}

const namesAt = (tree: unknown, path: KeyPath): readonly unknown[] => {
  const value = valueAt(tree, path)
  return isPlainObject(value) ? Object.keys(value) : listAt(tree, path)
}
