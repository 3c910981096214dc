import { authSchema } from '../../../features/auth/config.ts'
import { foldUnderscores } from '../../exchange/header-fields.ts'
import { isPlainObject } from '../../lib/plain-object.ts'
import { coreSchema } from '../core-schema.ts'
import { formatKeyPath, type KeyPath } from '../problem.ts'
import { authMethodLists, isTokenMethod, listAt, parseAt, valueAt } from './rule.ts'

/** A field of requests that the gateway reads or writes itself: the key that says so, and its name. */
interface OwnField {
  readonly path: KeyPath
  readonly name: string
}

const requestIdField = coreSchema.shape.requestId.unwrap().shape.header

/** Lists the fields of requests that the gateway reads or writes itself, whatever the operation. */
export const listOwnFields = (tree: unknown): readonly OwnField[] => {
  const auth = parseAt(tree, authSchema, ['auth'])
  const takesTokens = authMethodLists(tree).some(({ names }) => names.some(isTokenMethod))
  const isClientCert = auth?.mtls.from === 'client-cert'
  const fields: readonly (readonly [KeyPath, string | null | undefined])[] = [
    [['auth', 'methods'], auth && takesTokens ? 'Authorization' : null],
    [['auth', 'dpop'], auth?.dpop ? 'DPoP' : null],
    [['auth', 'mtls', 'from'], isClientCert ? 'Client-Cert' : null],
    [['auth', 'mtls', 'from'], isClientCert ? 'Client-Cert-Chain' : null],
    [['requestId', 'header'], parseAt(tree, requestIdField, ['requestId', 'header'])],
    [['auth', 'apiKey', 'field'], auth?.apiKey.field],
    [['auth', 'identityField'], auth?.identityField],
  ]
  return fields.flatMap(([path, name]) => (name == null ? [] : [{ path, name }]))
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
