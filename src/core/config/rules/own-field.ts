import { foldUnderscores } from '../../exchange/header-fields.ts'
import { configParts, type OwnField } from '../config-part.ts'
import { coreSchema } from '../core-schema.ts'
import { parseAt } from './rule.ts'

const requestIdField = coreSchema.shape.requestId.unwrap().shape.header

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

/** `_` equals `-`, as in CGI-like back ends. */
export const findField = (fields: readonly OwnField[], name: string): OwnField | undefined => {
  const folded = foldUnderscores(name)
  return fields.find((field) => foldUnderscores(field.name) === folded)
}
