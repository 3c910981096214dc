import { quote } from '../../../core/config/problem.ts'
import { asPlainObject, isPlainObject } from '../../../core/lib/plain-object.ts'
import type { OneWayKeyword } from './bundle/one-way-members.ts'
import type { ContractBundle } from './contract-bundle.ts'
import { asItems, type Tree } from './contract-node.ts'
import { subSchemas } from './schema-walk.ts'

/**
 * Warns of an enumeration without null in a schema whose types have it: null breaks it. OpenAPI 3.0 writes this as
 * `nullable: true`, and its readers differed until 3.0.3 said the same.
 */
export const warnOfLostNull = (schema: Tree, bundle: ContractBundle): void => {
  if (!asItems(schema.type).includes('null') || !Array.isArray(schema.enum) || schema.enum.includes(null)) return
  bundle.warn(schema, ['enum'], {
    message: 'null breaks this: the enumeration does not have it, though the type has',
    expected: 'null among the values, or not among the types',
    found: 'no null among the values',
    hint: 'add null to enum, or take it out of the type (OpenAPI 3.0: remove nullable)',
  })
}

/**
 * Warns of members of a message that are required, though a keyword says that they belong to the other direction: in
 * OpenAPI 3.1 it checks nothing (JSON Schema Validation §9.4). In a document of 3.0 they are no longer required by now.
 * `seen`: the schemas that were looked at already.
 */
export const warnOfOneWayMembers = (
  schema: unknown,
  keyword: OneWayKeyword,
  bundle: ContractBundle,
  seen: Set<unknown>,
): void => {
  if (!isPlainObject(schema) || seen.has(schema)) return
  seen.add(schema)
  const required = asItems(schema.required)
  const written = asItems(asPlainObject(bundle.origins.get(schema)?.value).required)
  const members = required.length === 0 ? [] : bundle.partsOf(schema).map(({ properties }) => asPlainObject(properties))
  for (const name of required) {
    if (typeof name !== 'string') continue
    const stated = members.flatMap((each) => (Object.hasOwn(each, name) ? bundle.partsOf(each[name]) : []))
    if (stated.some((each) => each[keyword] === true))
      bundle.warn(schema, ['required', written.indexOf(name)], isRequired(name, keyword))
  }
  if (typeof schema.$ref === 'string') warnOfOneWayMembers(bundle.follow(schema.$ref), keyword, bundle, seen)
  for (const inner of subSchemas(schema)) warnOfOneWayMembers(inner.schema, keyword, bundle, seen)
}

const isRequired = (name: string, keyword: OneWayKeyword) => {
  const messages = keyword === 'readOnly' ? 'requests' : 'responses'
  return {
    message: `${messages} without it break the contract: ${keyword} does nothing`,
    expected: `a schema for ${messages} that does not require it`,
    found: `${quote(name)}, which is ${keyword}`,
    hint: `take it out of required, or give ${messages} a schema of their own`,
  }
}
