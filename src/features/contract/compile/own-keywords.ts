import { isDeepStrictEqual } from 'node:util'
import { _, type Code, type CodeKeywordDefinition, type KeywordCxt, stringify } from 'ajv'
import { StepBudget } from '../check/step-budget.ts'
import { createMultipleOf, hasUniqueItems } from '../check/value-checks.ts'

/**
 * The keyword by which the checks of a schema are counted at run time: the steps that it takes beside those of every
 * check.
 */
export const countedKeyword = 'x-counted'

const counted = (onSchema: () => void): CodeKeywordDefinition => ({
  keyword: countedKeyword,
  schemaType: 'number',
  before: '$ref',
  code({ gen, data, schema }: KeywordCxt) {
    onSchema()
    gen.code(_`takeStep(${data}, ${Number(schema)})`)
  },
})

// The operator's own schemas, which are checked at compile time, may take any time.
const unlimited = new StepBudget(Number.POSITIVE_INFINITY)

const uniqueItems: CodeKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must not have items that are equal' },
  code(context: KeywordCxt) {
    if (context.schema !== true) return
    const code = _`require("value-checks").hasUniqueItems`
    const call = context.gen.scopeValue('func', {
      ref: (items: readonly unknown[]) => hasUniqueItems(items, unlimited),
      code,
    })
    context.fail(_`!${call}(${context.data})`)
  },
}

const multipleOf: CodeKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  error: {
    message: ({ schemaCode }) => _`"must be multiple of " + ${schemaCode}`,
    params: ({ schemaCode }) => _`{multipleOf: ${schemaCode}}`,
  },
  code(context: KeywordCxt) {
    const divisor: number = context.schema
    const code = _`require("value-checks").createMultipleOf(${divisor})`
    const call = context.gen.scopeValue('func', {
      key: code.toString(),
      ref: createMultipleOf(divisor, unlimited),
      code,
    })
    context.fail(_`!${call}(${context.data})`)
  },
}

// More values are looked up in a set: Ajv compares them one by one, and cannot compile two thousand.
const maxCompared = 8

const enumeration: CodeKeywordDefinition = {
  keyword: 'enum',
  schemaType: 'array',
  error: {
    message: 'must be equal to one of the allowed values',
    params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
  },
  code(context: KeywordCxt) {
    const { gen, data, schemaCode } = context
    const values: readonly unknown[] = context.schema
    const scalars = values.filter((value) => typeof value !== 'object' || value === null)
    const isOneOf: Code[] = []
    if (scalars.length <= maxCompared) isOneOf.push(...scalars.map((value) => _`${data} === ${stringify(value)}`))
    else {
      const set = gen.scopeValue('obj', { ref: new Set(scalars), code: _`new Set(${stringify(scalars)})` })
      isOneOf.push(_`${set}.has(${data})`)
    }
    if (scalars.length < values.length) {
      const code = _`require("ajv/dist/runtime/equal").default`
      const call = gen.scopeValue('func', { ref: isDeepStrictEqual, code })
      for (const [at, value] of values.entries())
        if (typeof value === 'object' && value !== null) isOneOf.push(_`${call}(${data}, ${schemaCode}[${at}])`)
    }
    const [first = _`false`, ...rest] = isOneOf
    context.pass(rest.reduce((all, each) => _`${all} || ${each}`, first))
  },
}

/**
 * Returns the keywords that are checked in another way than by Ajv, or in addition. `onSchema` is called for each
 * schema that is compiled.
 */
export const ownKeywords = (onSchema: () => void): readonly CodeKeywordDefinition[] => [
  counted(onSchema),
  uniqueItems,
  multipleOf,
  enumeration,
]
