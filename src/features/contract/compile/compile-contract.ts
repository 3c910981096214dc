import { isDeepStrictEqual } from 'node:util'
import { _, type Code, type CodeKeywordDefinition, type KeywordCxt, type Options, stringify } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import standaloneCode from 'ajv/dist/standalone/index.js'
import { errorMessage } from '../../../core/lib/try.ts'
import type { CompiledContract, SchemaName } from '../check/compiled-contract.ts'
import { formats } from '../check/formats.ts'
import { linearRegExp } from '../check/linear-regexp.ts'
import { StepBudget } from '../check/step-budget.ts'
import { createMultipleOf, hasUniqueItems } from '../check/value-checks.ts'

// One id for each schema: Ajv takes time quadratic in the number of parts of one document.
export const sharedSchema = (name: string): string => `contract:///shared/${encodeURIComponent(name)}`

// OpenAPI 3.1 §4.8.24: they check nothing.
const annotations = ['discriminator', 'xml', 'externalDocs', 'example']

export class CompileTimeout extends Error {}

export class SchemaFault extends Error {
  readonly schema: SchemaName

  constructor(schema: SchemaName, cause: unknown) {
    const reason = errorMessage(cause)
    super(cause instanceof RangeError ? 'it leads through too many schemas' : reason, { cause })
    this.schema = schema
  }
}

/** Ajv converts no value, fills in no default and removes no member: what is checked is what was sent. */
export const compileSchemas = (
  schemas: Readonly<Record<SchemaName, object | boolean>>,
  shared: Readonly<Record<string, unknown>> = {},
  limitMs = Number.POSITIVE_INFINITY,
): Pick<CompiledContract, 'code' | 'detailedCode'> => {
  const endsAt = cpuMs() + limitMs
  return { code: compileCode(schemas, shared, false, endsAt), detailedCode: compileCode(schemas, shared, true, endsAt) }
}

// A thread waits for its turn on a busy machine, so only CPU time counts.
const cpuMs = (): number => process.threadCpuUsage().user / 1000

const compileCode = (
  schemas: Readonly<Record<SchemaName, object | boolean>>,
  shared: Readonly<Record<string, unknown>>,
  allErrors: boolean,
  endsAt: number,
): string => {
  const ownProperties = inheritedName.test(JSON.stringify([schemas, shared]))
  const ajv = createAjv({ allErrors, ownProperties, validateSchema: false, onSchema: () => checkTime(endsAt) })
  for (const [name, schema] of Object.entries(shared))
    if (typeof schema === 'object' && schema !== null) ajv.addSchema(schema, sharedSchema(name))
    else if (typeof schema === 'boolean') ajv.addSchema(schema ? {} : { not: {} }, sharedSchema(name))
  const ids: Record<string, string> = {}
  for (const [name, schema] of Object.entries(schemas)) {
    ids[name] = `contract:///${name}`
    try {
      ajv.addSchema(schema, ids[name])
      ajv.getSchema(ids[name])
    } catch (error) {
      throw error instanceof CompileTimeout ? error : new SchemaFault(name, error)
    }
    checkTime(endsAt)
  }
  return standaloneCode.default(ajv, ids)
}

/** Called in the middle of schemas too: one schema may take all of the time. */
const checkTime = (endsAt: number): void => {
  if (cpuMs() > endsAt) throw new CompileTimeout('compiling takes too long')
}

// Own-property tests take a third of a check, and objects of JSON.parse inherit only these names.
const inheritedName = new RegExp(`"(?:${Object.getOwnPropertyNames(Object.prototype).join('|')})"`)

interface AjvOptions extends Pick<Options, 'allErrors' | 'ownProperties' | 'validateSchema'> {
  readonly onSchema?: () => void
}

// Ajv copies the target of a reference, or calls it as a function. Copies of texts and numbers save 2 µs for a body of
// 2 KB with a hundred of them. Copies of objects made 1,000 references in 42 KB take 8 s and 750 MB.
const maxKeywordsCopied = 8

export const createAjv = ({ onSchema = () => {}, ...options }: AjvOptions): Ajv2020 => {
  const ajv = new Ajv2020({
    ...options,
    strict: true,
    strictTypes: false, // another schema beside it may state the type
    strictRequired: false, // or name the required member
    strictTuples: false,
    allowUnionTypes: true,
    allowMatchingProperties: true,
    coerceTypes: false,
    useDefaults: false,
    removeAdditional: false,
    $data: false,
    inlineRefs: maxKeywordsCopied,
    logger: false,
    formats,
    code: {
      source: true,
      optimize: false,
      formats: _`require("formats").formats`,
      regExp: Object.assign((pattern: string) => linearRegExp(pattern, null), {
        code: 'require("linear-regexp").linearRegExp',
      }),
    },
  })
  for (const keyword of annotations) ajv.addKeyword(keyword)
  for (const own of [counted(onSchema), uniqueItems, multipleOf, enumeration]) {
    ajv.removeKeyword(String(own.keyword))
    ajv.addKeyword(own)
  }
  return ajv
}

/** The steps of one schema, taken at run time beside those of every check. */
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

const unlimited = new StepBudget(Number.POSITIVE_INFINITY)

const failUnless = (context: KeywordCxt, ref: (value: never) => boolean, code: Code): void => {
  const call = context.gen.scopeValue('func', { key: code.toString(), ref, code })
  context.fail(_`!${call}(${context.data})`)
}

const uniqueItems: CodeKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must not have items that are equal' },
  code(context: KeywordCxt) {
    const isUnique = (items: readonly unknown[]): boolean => hasUniqueItems(items, unlimited)
    if (context.schema === true) failUnless(context, isUnique, _`require("value-checks").hasUniqueItems`)
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
    failUnless(context, createMultipleOf(divisor, unlimited), code)
  },
}

// Ajv compares values one by one, and cannot compile two thousand.
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
