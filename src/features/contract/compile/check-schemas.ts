import { quote } from '../../../core/config/problem.ts'
import { suggestNearest } from '../../../core/config/suggest.ts'
import { asPlainObject, isPlainObject, unescapeSegment } from '../../../core/lib/plain-object.ts'
import { errorMessage } from '../../../core/lib/try.ts'
import { formats } from '../check/formats.ts'
import { linearRegExp } from '../check/linear-regexp.ts'
import { withoutNeedlessEscapes } from '../check/translate-pattern.ts'
import { createAjv } from './compile-contract.ts'
import type { ContractBundle } from './contract-bundle.ts'
import { asItems, describeText, memberAt, type NodeIssue, type Tree } from './contract-node.ts'
import { combining, type FollowReference, forEachSchema, subSchemas } from './schema-keywords.ts'
import { analyzeTypes, isNegation } from './schema-types.ts'

/** Of a schema of a wrong form, only independent faults are reported. */
export const checkSchemas = (bundle: ContractBundle): void => {
  const { document, origins, follow, names } = bundle
  const used = [...names.keys()]
  const schemas = new Set([...Object.values(asPlainObject(asPlainObject(document.components).schemas)), ...used])
  const faulty = new Set<object>(bundle.faulty)
  for (const schema of schemas) for (const [path, issue] of checkForm(schema)) report(schema, path, issue)
  const analysis = faulty.size === 0 ? bundle.analysis : analyzeTypes(follow, faulty)
  for (const circle of findCirclesInPlace(schemas, follow)) bundle.error(circle, ['$ref'], endless)
  const isCircular = findCirclesInPlace(used, follow).size > 0
  for (const schema of schemas) {
    forEachSchema(schema, (each) => {
      checkPatterns(each, bundle)
      checkFormat(each, bundle)
      warnOfLostNull(each, bundle)
      if (faulty.has(each)) return
      checkLoneKeywords(each, bundle)
      checkMatches(each, bundle, analysis)
    })
    if (!names.has(schema)) continue
    const whole = asPlainObject(schema)
    if (analysis.typesOf(schema).never !== null && isNegation(whole))
      bundle.error(whole, ['not'], neverMatches('it is false'))
    if (!isCircular && checksInPlace(schema, follow) > maxChecksInPlace) bundle.error(whole, [], tooMany)
  }

  function report(schema: unknown, path: readonly string[], issue: NodeIssue): void {
    let inner = asPlainObject(schema)
    let rest: (string | number)[] = []
    let value: unknown = schema
    for (const segment of path) {
      const key = Array.isArray(value) ? Number(segment) : segment
      value = memberAt(value, key)
      rest.push(key)
      if (typeof value !== 'object' || value === null || !origins.has(value)) continue
      inner = asPlainObject(value)
      rest = []
    }
    faulty.add(inner)
    bundle.error(inner, rest, issue)
  }
}

const endless: NodeIssue = {
  message: 'the schema leads to itself in the same place',
  expected: 'a member or an item on the way',
  found: 'a circle',
  hint: 'checking it would never end: remove one of the references',
}

const maxChecksInPlace = 5_000

const tooMany: NodeIssue = {
  message: 'one value would be checked against too many schemas',
  expected: `at most ${maxChecksInPlace}, counted as often as anyOf, oneOf and allOf lead to them`,
  found: 'more',
  hint: 'let fewer schemas be combined, or name each once',
}

// Compiling the meta-schema takes longer than checking the schemas of a contract.
let metaSchema: ReturnType<typeof createAjv> | undefined

const checkForm = (schema: unknown): Iterable<readonly [path: readonly string[], issue: NodeIssue]> => {
  metaSchema ??= createAjv({ allErrors: true, ownProperties: true, validateSchema: true })
  if (metaSchema.validateSchema(asPlainObject(schema)) === true) return []
  const found = new Map<string, readonly [path: readonly string[], issue: NodeIssue]>()
  for (const { instancePath, keyword, params, message = 'another form' } of metaSchema.errors ?? []) {
    if (keyword === 'if' || keyword === 'allOf' || keyword === '$dynamicRef') continue
    // The first of several allowed forms stands for all of them.
    if (found.has(instancePath)) continue
    const path = instancePath.split('/').slice(1).map(unescapeSegment)
    const name = path.at(-1) ?? 'schema'
    const allowed = asItems(params.allowedValues).map(String)
    const value = path.reduce<unknown>(memberAt, schema)
    const near = typeof value === 'string' ? suggestNearest(value, allowed) : undefined
    const otherwise =
      value === null && name === 'type' ? "write 'null' in quotes" : `JSON Schema 2020-12 says what ${name} takes`
    const issue = {
      message: 'the keyword has a wrong value',
      expected: allowed.length > 0 ? `one of ${allowed.join(', ')}` : message.replace(/^must be /, ''),
      found: typeof value === 'number' ? String(value) : describeText(value),
      hint: near === undefined ? otherwise : `did you mean ${near}?`,
    }
    found.set(instancePath, [path, issue])
  }
  return found.values()
}

const checkPatterns = (schema: Tree, bundle: ContractBundle): void => {
  const check = (pattern: string, path: readonly string[], atKey: boolean): void => {
    const fault = findFault(pattern)
    if (fault !== null) bundle.error(schema, path, { ...fault, atKey })
  }
  if (typeof schema.pattern === 'string') check(schema.pattern, ['pattern'], false)
  for (const key of Object.keys(asPlainObject(schema.patternProperties))) check(key, ['patternProperties', key], true)
}

const findFault = (pattern: string): NodeIssue | null => {
  try {
    new RegExp(withoutNeedlessEscapes(pattern), 'u')
  } catch (error) {
    return {
      message: 'the pattern is invalid',
      expected: 'a pattern of ECMA-262 (flag u)',
      found: errorMessage(error).replace(/^Invalid regular expression: \/.*\/u: /s, ''),
      hint: 'a backslash stands before letters with a meaning, and before punctuation',
    }
  }
  try {
    linearRegExp(pattern, null)
    return null
  } catch (error) {
    return {
      message: 'the pattern cannot be run',
      expected:
        'a pattern that RE2 can run: lookahead directly behind its first ^ alone, no lookbehind, no backreferences',
      found: errorMessage(error),
      hint: 'a client could make such patterns run for hours: write it without, or split it over allOf',
    }
  }
}

const checkFormat = (schema: Tree, bundle: ContractBundle): void => {
  const { format } = schema
  if (typeof format !== 'string' || Object.hasOwn(formats, format)) return
  const near = suggestNearest(format, Object.keys(formats))
  bundle.warn(schema, ['format'], {
    message: 'this does nothing: the format is not checked',
    expected: `one of ${Object.keys(formats).join(', ')}`,
    found: quote(format),
    hint: near === undefined ? 'add a pattern' : `did you mean ${near}?`,
  })
}

/** OpenAPI 3.0 writes a null that `enum` forbids as `nullable: true`; readers differed until 3.0.3. */
const warnOfLostNull = (schema: Tree, bundle: ContractBundle): void => {
  if (!asItems(schema.type).includes('null') || !Array.isArray(schema.enum) || schema.enum.includes(null)) return
  bundle.warn(schema, ['enum'], {
    message: 'null breaks this: the enumeration does not have it, though the type has',
    expected: 'null among the values, or not among the types',
    found: 'no null among the values',
    hint: 'add null to enum, or take it out of the type (OpenAPI 3.0: remove nullable)',
  })
}

// Without its companion, a keyword does nothing; without `then`, Ajv counts members of a failed `if` as evaluated.
const companions = [
  ['if', 'then'],
  ['then', 'if'],
  ['else', 'if'],
  ['minContains', 'contains'],
  ['maxContains', 'contains'],
] as const

const checkLoneKeywords = (schema: Tree, bundle: ContractBundle): void => {
  if (schema.minContains === 0 && schema.contains !== undefined && schema.maxContains === undefined)
    bundle.error(schema, ['minContains'], {
      message: 'contains does nothing with minContains: 0',
      expected: '1 or more, or maxContains beside it',
      found: '0',
      hint: 'remove contains, or add maxContains',
      atKey: true,
    })
  for (const [keyword, needed] of companions)
    if (Object.hasOwn(schema, keyword) && !Object.hasOwn(schema, needed))
      bundle.error(schema, [keyword], {
        message: `${keyword} does nothing alone`,
        expected: `${needed} beside it`,
        found: 'neither',
        hint: `add ${needed}, or remove ${keyword}`,
        atKey: true,
      })
}

/** If a schema inside is to blame, only that one is reported. */
const checkMatches = (schema: Tree, bundle: ContractBundle, analysis: ContractBundle['analysis']): void => {
  const bounds = analysis.contradictions(schema)
  for (const { message, keyword } of bounds) bundle.error(schema, [keyword], neverMatches(message))
  const { never } = analysis.typesOf(schema)
  if (never === null || bounds.length > 0 || isNegation(schema)) return
  const isNever = (each: unknown): boolean => analysis.typesOf(each).never !== null
  if (
    subSchemas(schema).some((each) => combining.includes(each.keyword) && each.schema !== false && isNever(each.schema))
  )
    return
  if (typeof schema.$ref === 'string' && isNever(bundle.follow(schema.$ref))) return
  const at = [...combining, 'const', 'enum', '$ref'].find((key) => Object.hasOwn(schema, key)) ?? 'type'
  bundle.error(schema, [at], neverMatches(never))
}

const neverMatches = (reason: string): NodeIssue => ({
  message: 'no value can ever match the schema',
  expected: 'a schema that some value matches',
  found: reason,
  hint: 'every message would break the contract',
})

/** The schemas must be free of circles in place. */
export const checksInPlace = (schema: unknown, follow: FollowReference): number => {
  const order = new Set<Tree>()
  findCirclesInPlace([schema], follow, order)
  const counts = new Map<unknown, number>([[schema, 1]])
  let total = 0
  // A schema's count is complete before it is passed on.
  for (const each of [...order].reverse()) {
    const count = counts.get(each) ?? 0
    total += count
    for (const next of schemasInPlace(each, follow)) counts.set(next, (counts.get(next) ?? 0) + count)
  }
  return total
}

const inPlaceKeywords = new Set([...combining, 'not', 'if', 'then', 'else', 'dependentSchemas'])

const schemasInPlace = (schema: Tree, follow: FollowReference): readonly unknown[] => [
  ...(typeof schema.$ref === 'string' ? [follow(schema.$ref)] : []),
  ...subSchemas(schema).flatMap(({ schema: each, keyword }) => (inPlaceKeywords.has(keyword) ? [each] : [])),
]

/** Without a member or an item on the way, the check would never end. `done` lists each schema behind those inside. */
export const findCirclesInPlace = (schemas: Iterable<unknown>, follow: FollowReference, done = new Set<Tree>()) => {
  const found = new Set<Tree>()
  const open = new Set<Tree>()
  const visit = (schema: unknown): void => {
    if (!isPlainObject(schema) || done.has(schema)) return
    if (open.has(schema)) {
      found.add(schema)
      return
    }
    open.add(schema)
    for (const next of schemasInPlace(schema, follow)) visit(next)
    open.delete(schema)
    done.add(schema)
  }
  for (const schema of schemas) visit(schema)
  return found
}
