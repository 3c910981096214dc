import { asPlainObject, isPlainObject } from '../../../core/lib/plain-object.ts'
import type { JsonType, SchemaName } from '../check/compiled-contract.ts'
import { formats } from '../check/formats.ts'
import type { BundledDocument } from './bundle/object-shapes.ts'
import { countedKeyword, sharedSchema } from './compile-contract.ts'
import { asItems, type ContractFindings, childOf, type NodeIssue, type Tree, wrongValue } from './contract-node.ts'
import { createFollow, listParts, mapSubSchemas } from './schema-keywords.ts'
import { analyzeTypes } from './schema-types.ts'

export type ContractBundle = ReturnType<typeof openBundle>

export const openBundle = ({ document, origins, faulty }: BundledDocument, findings: ContractFindings) => {
  const follow = createFollow(document)
  const analysis = analyzeTypes(follow)
  const names = new Map<unknown, SchemaName>()

  const report =
    (kind: 'error' | 'warn') =>
    (object: Tree, path: readonly (string | number)[], issue: NodeIssue): void => {
      const node = origins.get(object)
      if (node !== undefined) findings[kind](path.reduce(childOf, node), issue)
    }
  const error = report('error')

  return {
    document,
    origins,
    faulty,
    follow,
    analysis,
    names,
    seen: { readOnly: new Set<unknown>(), writeOnly: new Set<unknown>() },
    error,
    warn: report('warn'),
    followObject(value: unknown): Tree | null {
      if (!isPlainObject(value)) return null
      const target = typeof value.$ref === 'string' ? follow(value.$ref) : value
      return isPlainObject(target) ? target : null
    },
    /** Empty: any type. */
    typesOf(schema: unknown): readonly JsonType[] {
      if (schema === undefined) return []
      const { types } = analysis.typesOf(schema)
      return types.size === 7 ? [] : [...types]
    },
    partsOf: (schema: unknown) => listParts(schema, follow),
    addSchema(owner: Tree, schema: unknown): SchemaName {
      if (schema === false)
        error(owner, ['schema'], {
          message: 'no value can ever match the schema',
          expected: 'a schema that some value matches',
          found: 'false',
          hint: 'every message would break the contract: leave out what must not be there',
        })
      const name = names.get(schema) ?? `s${names.size}`
      names.set(schema, name)
      return name
    },
    requireBoolean(object: Tree, key: string): void {
      if (object[key] === undefined || typeof object[key] === 'boolean') return
      const hint = `write ${key}: true, or leave it out`
      error(object, [key], wrongValue(`${key} is not a boolean`, 'true or false', object[key], hint))
    },
  }
}

const stepsOf = ({ properties, required, format }: Tree): number =>
  Object.keys(asPlainObject(properties)).length + asItems(required).length + (format === undefined ? 0 : stepsPerFormat)

// Formats take 50 to 500 ns for a short text.
const stepsPerFormat = 60

export const copySchemas = ({ names, follow }: Pick<ContractBundle, 'names' | 'follow'>) => {
  const schemas: Record<SchemaName, object | boolean> = {}
  const shared: Record<string, unknown> = {}
  const sharedNames = new Map<string, string>()
  const memberNames = new Set<string>()

  const copy = (schema: unknown): unknown => {
    if (!isPlainObject(schema)) return schema
    // The target of a lone reference takes the steps.
    const isReference = typeof schema.$ref === 'string' && Object.keys(schema).length === 1
    const copied: Record<string, unknown> = isReference ? {} : { [countedKeyword]: stepsOf(schema) }
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword.startsWith('x-') || ['$schema', '$defs', 'definitions'].includes(keyword)) continue
      if (keyword === '$ref') copied.$ref = share(String(value))
      else if (keyword === 'format' && !Object.hasOwn(formats, String(value))) continue
      else copied[keyword] = mapSubSchemas(keyword, value, copy)
    }
    const { properties, required, dependentRequired, dependentSchemas } = schema
    const named = [properties, dependentRequired, dependentSchemas].flatMap((each) => Object.keys(asPlainObject(each)))
    const listed = [required, ...Object.values(asPlainObject(dependentRequired))].flat()
    for (const name of [...named, ...listed]) if (typeof name === 'string') memberNames.add(name)
    return copied
  }
  const share = (pointer: string): string => {
    let name = sharedNames.get(pointer)
    if (name === undefined) {
      name = `d${sharedNames.size}`
      sharedNames.set(pointer, name)
      shared[name] = true // it may refer to itself
      shared[name] = copy(follow(pointer))
    }
    return sharedSchema(name)
  }
  for (const [schema, name] of names) schemas[name] = copy(schema) as object | boolean
  return { schemas, shared, memberNames: [...memberNames] }
}
