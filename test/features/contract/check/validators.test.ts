import { describe, expect, test } from 'vitest'
import { StepBudget, TooManyStepsError } from '../../../../src/features/contract/check/step-budget.ts'
import { createEqual } from '../../../../src/features/contract/check/value-checks.ts'
import { compileSchemas, sharedSchema } from '../../../../src/features/contract/compile/compile-contract.ts'
import { schemaName, validatorsOf } from '../validators.ts'

const ref = { $ref: sharedSchema('Node') }
const branch = (op: string) => ({
  type: 'object',
  required: ['op'],
  properties: { args: { type: 'array', items: ref }, op: { const: op } },
})

/** A tree of expressions: each value is evaluated in every branch, so that depth multiplies. */
const tree = { oneOf: [branch('and'), branch('or'), branch('not')] }

const nested = (depth: number): unknown => {
  let value: unknown = { op: 'other' }
  for (let i = 0; i < depth; i++) value = { op: 'and', args: [value] }
  return value
}

describe('a schema that refers to itself in several branches', () => {
  test('is left after a bounded number of steps, which is a violation', () => {
    const validators = validatorsOf(ref, { Node: tree })

    const violations = validators.validate(schemaName, nested(40), 'body', { bytes: 100 })

    expect(violations).toEqual([
      { pointer: '', in: 'body', rule: 'complexity', detail: 'to check the value takes too long' },
    ])
  })

  test('keeps what keeps the contract', () => {
    const validators = validatorsOf(ref, { Node: tree })
    const value = { op: 'and', args: [{ op: 'or', args: [{ op: 'not' }, { op: 'not' }] }] }

    expect(validators.validate(schemaName, value, 'body', { bytes: 100 })).toEqual([])
  })

  test('has its steps back for the next value', () => {
    const validators = validatorsOf(ref, { Node: tree })
    validators.validate(schemaName, nested(40), 'body', { bytes: 100 })

    expect(validators.validate(schemaName, { op: 'and' }, 'body', { bytes: 100 })).toEqual([])
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

test('unique items take linear time', () => {
  const validators = validatorsOf({ type: 'array', uniqueItems: true })
  const few = Array.from({ length: 100 }, (_, i) => ({ i }))
  const many = Array.from({ length: 100_000 }, (_, i) => ({ i }))

  const check = (value: unknown) =>
    validators.validate(schemaName, value, 'body', { bytes: JSON.stringify(value).length })

  expect(check(few)).toEqual([])
  expect(check([...few, { i: 7 }])).toMatchObject([{ rule: 'uniqueItems' }])
  expect(check(many)).toEqual([])
  expect(check([...many, { i: 99_999 }])).toMatchObject([{ rule: 'uniqueItems' }])
})

describe('unique items take steps', () => {
  const check = (schema: object, value: unknown) =>
    validatorsOf(ref, { Node: schema })
      .validate(schemaName, value, 'body', { bytes: JSON.stringify(value).length })
      .map(({ rule }) => rule)
  /** Writes a list in so many others: as many schemas look at its items. */
  const wrapped = (items: unknown, depth: number): unknown => (depth === 0 ? items : [wrapped(items, depth - 1)])
  const nestedSchema = { type: ['array', 'integer', 'string'], uniqueItems: true, items: ref }

  test.each([
    ['values', Array.from({ length: 150_000 }, (_, i) => i)],
    ['a long text', ['x'.repeat(1024 * 1024)]],
  ])('for %s, each time that they are looked at', (_, items) => {
    expect(check(nestedSchema, wrapped(items, 95))).toEqual(['complexity'])
    expect(check(nestedSchema, wrapped(items, 1))).toEqual([])
  })

  test('and lists of a few digits are far from too many', () => {
    const digits = { type: 'array', uniqueItems: true, items: { type: 'integer' } }
    const lists = Array.from({ length: 40_000 }, (_, i) =>
      [...String(1_000_000 + i)].map((digit, at) => at * 10 + +digit),
    )

    expect(check({ type: 'array', uniqueItems: true, items: digits }, lists)).toEqual([])
  })
})

test('an array of 100,000 wrong items has at most ten violations, and all of them only where it is small', () => {
  const validators = validatorsOf({ type: 'array', items: { type: 'string' } })
  const wrong = (length: number) => Array.from({ length }, () => 1)

  expect(validators.validate(schemaName, wrong(100_000), 'body', { bytes: 200_000 })).toHaveLength(1)
  expect(validators.validate(schemaName, wrong(1000), 'body', { bytes: 100 })).toHaveLength(10)
})

test('a member that every object inherits counts only when it is there', () => {
  const names = ['constructor', 'toString', '__proto__']
  const validators = validatorsOf({ type: 'object', required: names }, {}, names)

  const violations = validators.validate(schemaName, JSON.parse('{}'), 'body', { bytes: 100 })

  expect(violations.map(({ pointer }) => pointer)).toEqual(['/constructor', '/toString', '/__proto__'])
  const own = JSON.parse('{"constructor":1,"toString":2,"__proto__":3}')
  expect(validators.validate(schemaName, own, 'body', { bytes: 100 })).toEqual([])
})

test('where the contract names no such member, none that is inherited counts either', () => {
  const schema = { type: 'object', required: ['id'], additionalProperties: false, properties: { id: {} } }
  const rules = (text: string): readonly string[] =>
    validatorsOf(schema, {}, ['id'])
      .validate(schemaName, JSON.parse(text), 'body', { bytes: 100 })
      .map(({ rule }) => rule)

  expect(compileSchemas({ s0: schema }).code).not.toContain('hasOwnProperty')
  expect(rules('{}')).toEqual(['required'])
  for (const name of ['toString', 'constructor', '__proto__', 'hasOwnProperty'])
    expect(rules(`{"id":1,"${name}":{"id":1}}`)).toEqual(['additionalProperties'])
})

describe('a budget compares', () => {
  const equal = (one: unknown, other: unknown): boolean => createEqual(new StepBudget(100))(one, other)

  test.each([
    [1, 1, true],
    [0, -0, true],
    ['a', 'b', false],
    [null, {}, false],
    [[], {}, false],
    [{ a: 1, b: [2, null] }, { b: [2, null], a: 1 }, true],
    [{ a: 1 }, { b: 1 }, false],
    [{ a: 1 }, { a: 1, b: 1 }, false],
    [JSON.parse('{"__proto__":1}'), { constructor: 1 }, false],
    [JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":1}'), true],
  ])('%j with %j: %j', (one, other, expected) => {
    expect(equal(one, other)).toBe(expected)
  })

  test('until it is used up', () => {
    expect(() => equal(Array.from({ length: 1000 }), Array.from({ length: 1000 }))).toThrow(TooManyStepsError)
  })
})

test('an enumeration of a thousand codes takes no more steps than one of two', () => {
  const codes = Array.from({ length: 1_000 }, (_, i) => `C${i}`)
  const validators = validatorsOf({ type: 'array', items: { enum: codes } })
  const value = Array.from({ length: 10_000 }, () => 'C999')

  expect(validators.validate(schemaName, value, 'body', { bytes: 70_000 })).toEqual([])
  expect(validators.validate(schemaName, [...value, 'D'], 'body', { bytes: 70_000 })).toMatchObject([{ rule: 'enum' }])
})

test('an enumeration may have thousands of values, of every type', () => {
  const codes = Array.from({ length: 4_000 }, (_, i) => `C${i}`)
  const validators = validatorsOf({ type: 'array', items: { enum: [...codes, 7, true, null, { a: [1] }, [2]] } })
  const check = (value: unknown) =>
    validators.validate(schemaName, [value], 'body', { bytes: 10 }).map(({ rule }) => rule)

  for (const value of ['C0', 'C3999', 7, true, null, { a: [1] }, [2]])
    expect([value, check(value)]).toEqual([value, []])
  for (const value of ['C4000', '7', 'true', false, 0, { a: [2] }, [], {}])
    expect([value, check(value)]).toEqual([value, ['enum']])
})

describe('a pattern that RE2 runs takes steps', () => {
  const rules = (schema: object, value: unknown) =>
    validatorsOf(schema)
      .validate(schemaName, value, 'body', { bytes: JSON.stringify(value).length })
      .map(({ rule }) => rule)
  /** Draws numbers below `max`, the same each time. */
  const createDraw = () => {
    let seed = 1
    return (max: number): number => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % max
    }
  }
  const drawText = (draw: (max: number) => number, characters: string, length: number): string =>
    Array.from({ length }, () => characters[draw(characters.length)]).join('')

  test('by the ways to match that it follows, also where no text is long', () => {
    const draw = createDraw()
    const group = () => `a${drawText(draw, 'abc ', 48)}a`
    const names = Array.from({ length: 500 }, () => [group(), group(), group(), group()].join(' '))
    const items = { pattern: "^[A-Za-z '-]{1,50}(?: [A-Za-z '-]{1,50}){0,3}$" }

    expect(rules({ type: 'array', items }, names)).toEqual(['complexity'])
    expect(rules({ type: 'array', items }, ['Anna Maria', 'Jean-Luc de la Tour', "O'Neil"])).toEqual([])
  })

  test('by each text, also where there is a single long one', () => {
    const schema = { not: { pattern: 'a[ab]{80}c' } }

    expect(rules(schema, `c${drawText(createDraw(), 'ab', 1024 ** 2)}`)).toEqual(['complexity'])
    expect(rules(schema, 'cab')).toEqual([])
  })

  test('once in each of many schemas', () => {
    const allOf = Array.from({ length: 20 }, (_, i) => ({ not: { pattern: `x[ab]{1,${2 + i}}c` } }))

    expect(rules({ allOf }, `c${'ab'.repeat(512 * 1024)}`)).toEqual(['complexity'])
    expect(rules({ allOf }, `c${'ab'.repeat(500)}`)).toEqual([])
  })
})

test.each([
  ['four lines, which are the first text of a pattern', '^(?:[A-Z0-9]{1,35} ?){1,4}$', ['A'.repeat(140)]],
  ['long texts of letters', '^(?:[\\p{L} ]){1,900}$', Array(4).fill('aé'.repeat(450))],
])('%s are far from too many steps', (_, pattern, texts) => {
  const validators = validatorsOf({ type: 'array', items: { pattern } })

  expect(validators.validate(schemaName, texts, 'body', { bytes: 1000 })).toEqual([])
})

test('a list of names takes few steps for its pattern, though none of them is too long for it', () => {
  const validators = validatorsOf({ type: 'array', items: { pattern: "^[\\p{L} '-]{1,140}$" } })
  const names = Array.from({ length: 5_000 }, () => 'Grünwald-Ångström '.repeat(5))

  expect(validators.validate(schemaName, names, 'body', { bytes: 450_000 })).toEqual([])
})
