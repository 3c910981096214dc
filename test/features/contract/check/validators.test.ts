import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Violation } from '../../../../src/core/exchange/failures/errors.ts'
import { checkBody, checkRequestHead } from '../../../../src/features/contract/check/check-message.ts'
import type { ParameterContract } from '../../../../src/features/contract/check/compiled-contract.ts'
import { maxTextLength, maxViolations, toViolations } from '../../../../src/features/contract/check/validators.ts'
import { compileSchemas, sharedSchema } from '../../../../src/features/contract/compile/compile-contract.ts'
import { parameterOf, rulesOf, schemaName, validatorsOf } from '../validators.ts'

const ref = { $ref: sharedSchema('Node') }
const listOf = <T>(length: number, item: (i: number) => T): T[] => Array.from({ length }, (_, i) => item(i))

/** A tree of expressions: each value is evaluated in every branch, so that depth multiplies. */
const tree = {
  oneOf: ['and', 'or', 'not'].map((op) => ({
    type: 'object',
    required: ['op'],
    properties: { args: { type: 'array', items: ref }, op: { const: op } },
  })),
}

describe('a schema that refers to itself in several branches', () => {
  test('a recursive schema is given up after a bounded number of steps, and the next value has new steps', () => {
    const validators = validatorsOf(ref, { Node: tree })
    const nested = listOf(40, () => 'and').reduce<object>((value, op) => ({ op, args: [value] }), { op: 'other' })
    const kept = { op: 'and', args: [{ op: 'or', args: [{ op: 'not' }, { op: 'not' }] }] }
    const check = (value: object) => validators.validate(schemaName, value, 'body', { bytes: 100 })

    const detail = 'checking the value takes too long'
    expect([check(nested), check(kept)]).toEqual([[{ pointer: '', in: 'body', rule: 'complexity', detail }], []])
  })

  test('takes its steps in every function that Ajv writes', () => {
    const { code, detailedCode } = compileSchemas({ s0: ref, s1: tree }, { Node: tree })

    for (const text of [code, detailedCode]) {
      const functions = text.match(/function validate\d+/g) ?? []
      const found = text.match(/function validate\d+\(data, \{[^{}]*(?:\{\})?[^{}]*\}=\{\}\)\{/g) ?? []
      expect(functions.length).toBeGreaterThan(1)
      expect(found).toHaveLength(functions.length)
    }
  })
})

test.each([100, 20_000])('%i unique items are told from those of which two are one', (length) => {
  const rules = rulesOf({ type: 'array', uniqueItems: true })
  const items = listOf(length, (i) => ({ i }))

  expect([rules(items), rules([...items, { i: length - 1 }])]).toEqual([[], ['uniqueItems']])
})

describe('unique items take steps', () => {
  /** Writes a list in so many others: as many schemas look at its items. */
  const wrapped = (items: unknown, depth: number): unknown => (depth === 0 ? items : [wrapped(items, depth - 1)])

  test.each([
    ['values', listOf(20_000, (i) => i)],
    ['a long text', ['x'.repeat(200 * 1024)]],
  ])('for %s, each time that they are looked at', (_, items) => {
    const rules = rulesOf(ref, { Node: { type: ['array', 'integer', 'string'], uniqueItems: true, items: ref } })

    expect([rules(wrapped(items, 95)), rules(wrapped(items, 1))]).toEqual([['complexity'], []])
  })

  test('short lists of unique items take few steps', () => {
    const digits = { type: 'array', uniqueItems: true, items: { type: 'integer' } }
    const lists = listOf(40_000, (i) => [...String(1_000_000 + i)].map((digit, at) => at * 10 + +digit))

    expect(rulesOf({ type: 'array', uniqueItems: true, items: digits })(lists)).toEqual([])
  })
})

test('an array of 10,000 wrong items has at most ten violations, and all of them only where it is small', () => {
  const rules = rulesOf({ type: 'array', items: { type: 'string' } })

  expect(rules(listOf(10_000, () => 1))).toHaveLength(1)
  expect(rules(listOf(1000, () => 1))).toHaveLength(10)
})

test('a member that every object inherits counts only when it is there', () => {
  const names = ['constructor', 'toString', '__proto__']
  const validators = validatorsOf({ type: 'object', required: names }, {}, names)
  const pointers = (text: string) =>
    validators.validate(schemaName, JSON.parse(text), 'body', { bytes: 100 }).map(({ pointer }) => pointer)

  expect(pointers('{}')).toEqual(['/constructor', '/toString', '/__proto__'])
  expect(pointers('{"constructor":1,"toString":2,"__proto__":3}')).toEqual([])
})

test('where the contract names no such member, none that is inherited counts either', () => {
  const schema = { type: 'object', required: ['id'], additionalProperties: false, properties: { id: {} } }
  const rules = rulesOf(schema, {}, ['id'])

  expect(compileSchemas({ s0: schema }).code).not.toContain('hasOwnProperty')
  expect(rules({})).toEqual(['required'])
  for (const name of ['toString', 'constructor', '__proto__', 'hasOwnProperty'])
    expect(rules(JSON.parse(`{"id":1,"${name}":{"id":1}}`))).toEqual(['additionalProperties'])
})

describe('an enumeration of thousands', () => {
  const codes = listOf(4_000, (i) => `C${i}`)
  const rules = rulesOf({ type: 'array', items: { enum: [...codes, 7, true, null, { a: [1] }, [2]] } })

  test('takes no more steps than one of two', () => {
    const value = listOf(10_000, () => 'C3999')

    expect([rules(value), rules([...value, 'D'])]).toEqual([[], ['enum']])
  })

  test('may have values of every type', () => {
    for (const value of ['C0', 'C3999', 7, true, null, { a: [1] }, [2]])
      expect([value, rules([value])]).toEqual([value, []])
    for (const value of ['C4000', '7', 'true', false, 0, { a: [2] }, [], {}])
      expect([value, rules([value])]).toEqual([value, ['enum']])
  })
})

describe('a pattern that RE2 runs takes steps', () => {
  /** Draws a text, the same each time. */
  const createDraw = (characters: string) => {
    let seed = 1
    const draw = (): string => {
      seed = (seed * 48_271) % 2_147_483_647
      return characters[seed % characters.length] ?? ''
    }
    return (length: number): string => listOf(length, draw).join('')
  }

  test('by the ways to match that it follows, also where no text is long', () => {
    const draw = createDraw('abc ')
    const names = listOf(500, () => listOf(4, () => `a${draw(48)}a`).join(' '))
    const rules = rulesOf({ type: 'array', items: { pattern: "^[A-Za-z '-]{1,50}(?: [A-Za-z '-]{1,50}){0,3}$" } })

    expect(rules(names)).toEqual(['complexity'])
    expect(rules(['Anna Maria', 'Jean-Luc de la Tour', "O'Neil"])).toEqual([])
  })

  test('by each text, also where there is a single long one', () => {
    const rules = rulesOf({ not: { pattern: 'a[ab]{80}c' } })

    expect([rules(`c${createDraw('ab')(1024 ** 2)}`), rules('cab')]).toEqual([['complexity'], []])
  })
})

const schema = {
  type: 'object',
  required: ['id', 'kind'],
  additionalProperties: { type: 'array', items: { type: 'integer' } },
  propertyNames: { maxLength: 8 },
  properties: {
    id: { type: 'string', pattern: '^[a-c]+$', maxLength: 3 },
    kind: { enum: ['one', 'two'] },
    at: { type: 'string', format: 'date-time' },
    amount: { type: 'number', minimum: 5, multipleOf: 2 },
    map: { type: 'object', additionalProperties: { type: 'boolean' }, patternProperties: { '^x-': false } },
    list: { type: 'array', uniqueItems: true, maxItems: 2, contains: { const: 7 } },
    either: { oneOf: [{ const: 'a' }, { type: 'object', required: ['b'], dependentRequired: { c: ['d'] } }] },
    strict: { type: 'object', properties: { a: {} }, unevaluatedProperties: false },
  },
}
const names = [...Object.keys(schema.properties), 'a', 'b']
const textValidators = validatorsOf(schema, {}, names)

/** A word that stands nowhere in the contract and nowhere in the code. */
const secret = fc.stringMatching(/^[a-z]{3}[0-9]{5}[A-Z]{4}$/).map((word) => `qz${word}`)

const tainted = (word: string): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.constantFrom<unknown>(word, [word], [word, word], { [word]: word }, { b: word, c: word }),
    fc.constantFrom<unknown>({ [`x-${word}`]: true }, 1, null, true, [1, 1, 1]),
    fc.dictionary(fc.constantFrom('a', 'b', word, `${word}/~0`), fc.constantFrom<unknown>(word, { [word]: [word] })),
  )

const expectClean = (violations: readonly Violation[], word: string): void => {
  expect(violations.length).toBeLessThanOrEqual(maxViolations)
  // It goes to the sender alone.
  const text = JSON.stringify(violations.map(({ ownPointer, ...each }) => each))
  expect(text).not.toContain(word)
  expect(text.length).toBeLessThan(maxViolations * (2 * maxTextLength + 100))
}

test('no value and no name of a body stands in a violation', () => {
  let violated = 0
  const drawn = secret.chain((word) =>
    fc.tuple(fc.constant(word), fc.dictionary(fc.constantFrom(...names, word), tainted(word), { maxKeys: 12 })),
  )
  fc.assert(
    fc.property(drawn, ([word, body]) => {
      const violations = checkBody(schemaName, textValidators, Buffer.from(JSON.stringify(body))) ?? []
      if (violations.length > 0) violated++
      expectClean(violations, word)
    }),
    { numRuns: 100 },
  )
  expect(violated).toBeGreaterThan(50)
})

test('no value and no name of a query or a field stands in a violation', () => {
  const parameter = (name: string, more: Partial<ParameterContract>): ParameterContract =>
    parameterOf({ name, required: true, schema: schemaName, types: ['object'], ...more })
  const parameters = [
    parameter('plain', { types: ['number'] }),
    parameter('deep', { style: 'deepObject', memberTypes: { id: ['string'], amount: ['number'] } }),
    parameter('json', { style: 'json' }),
    parameter('pairs', { explode: false }),
    parameter('x-field', { in: 'header', style: 'simple' }),
  ]
  const word = 'qzabc12345ABCD'
  const query = `?plain=${word}&deep[id]=${word}&deep[${word}]=1&json={"${word}":"${word}"}&pairs=${word},${word}&${word}`
  const head = { query, fields: ['X-Field', `${word},${word}`], hasBody: false }

  const { violations } = checkRequestHead({ parameters, body: null }, textValidators, head)

  expect(violations.length).toBeGreaterThan(3)
  expectClean(violations, word)
})

test('a violation shows allowed values, and no name that the contract does not have', () => {
  const body = { id: 'a', kind: 'three', either: 'b', other: true, strict: { a: 1, b: 2, other: 3 } }
  const validators = validatorsOf({ ...schema, additionalProperties: false }, {}, names)

  const violations = checkBody(schemaName, validators, Buffer.from(JSON.stringify(body)))

  expect(violations?.map(({ pointer, detail }) => `${pointer} ${detail}`)).toEqual([
    '/* must NOT have additional properties',
    '/kind must be one of "one", "two"',
    '/either must be "a"',
    '/either must be object',
    '/either must match exactly one schema in oneOf',
    '/strict/b must NOT have unevaluated properties',
    '/strict/* must NOT have unevaluated properties',
  ])
})

test.each([
  [[1, null, true, 'a"b', [1], { a: 1 }], 'must be one of 1, null, true, "a\\"b", an array, an object'],
  [listOf(3000, (i) => `code-${i}`), /^must be one of "code-0", .{150,}…$/],
  [['x'.repeat(100_000)], /^must be one of "x{183}…$/],
])('the values of an enumeration are told as far as there is room %#', (values, expected) => {
  const [violation] = validatorsOf({ enum: values }).validate(schemaName, 'none', 'body', { bytes: 6 })

  expect(violation?.detail).toMatch(expected)
  expect(violation?.detail.length).toBeLessThanOrEqual(maxTextLength)
})

test('long names of the contract are cut', () => {
  const message = 'n'.repeat(5000)
  const value = listOf(100, () => ({ [message]: 1 }))
  const errors = value.map((_, i) => ({ instancePath: `/${i}/${message}`, keyword: 'type', params: {}, message }))

  const violations = toViolations(errors, value, 'body', '', new Set([message]))

  expect(violations).toHaveLength(maxViolations)
  for (const { pointer, detail } of violations)
    expect([pointer.length, detail.length]).toEqual([maxTextLength, maxTextLength])
})
