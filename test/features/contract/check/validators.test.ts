import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Violation } from '../../../../src/core/exchange/failures/errors.ts'
import { checkBody, checkRequestHead } from '../../../../src/features/contract/check/check-message.ts'
import type { ParameterContract } from '../../../../src/features/contract/check/compiled-contract.ts'
import { maxTextLength, maxViolations, toViolations } from '../../../../src/features/contract/check/validators.ts'
import { compileSchemas, sharedSchema } from '../../../../src/features/contract/compile/compile-contract.ts'
import { parameterOf, schemaName, validatorsOf } from '../validators.ts'

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
  const many = Array.from({ length: 20_000 }, (_, i) => ({ i }))

  const check = (value: unknown) =>
    validators.validate(schemaName, value, 'body', { bytes: JSON.stringify(value).length })

  expect(check(few)).toEqual([])
  expect(check([...few, { i: 7 }])).toMatchObject([{ rule: 'uniqueItems' }])
  expect(check(many)).toEqual([])
  expect(check([...many, { i: 19_999 }])).toMatchObject([{ rule: 'uniqueItems' }])
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
    ['values', Array.from({ length: 20_000 }, (_, i) => i)],
    ['a long text', ['x'.repeat(200 * 1024)]],
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

test('an array of 10,000 wrong items has at most ten violations, and all of them only where it is small', () => {
  const validators = validatorsOf({ type: 'array', items: { type: 'string' } })
  const wrong = (length: number) => Array.from({ length }, () => 1)

  expect(validators.validate(schemaName, wrong(10_000), 'body', { bytes: 20_000 })).toHaveLength(1)
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

describe('an enumeration of thousands', () => {
  const codes = Array.from({ length: 4_000 }, (_, i) => `C${i}`)
  const validators = validatorsOf({ type: 'array', items: { enum: [...codes, 7, true, null, { a: [1] }, [2]] } })
  const rules = (value: unknown, bytes = 10) =>
    validators.validate(schemaName, value, 'body', { bytes }).map(({ rule }) => rule)

  test('takes no more steps than one of two', () => {
    const value = Array.from({ length: 10_000 }, () => 'C3999')

    expect(rules(value, 80_000)).toEqual([])
    expect(rules([...value, 'D'], 80_000)).toEqual(['enum'])
  })

  test('may have values of every type', () => {
    for (const value of ['C0', 'C3999', 7, true, null, { a: [1] }, [2]])
      expect([value, rules([value])]).toEqual([value, []])
    for (const value of ['C4000', '7', 'true', false, 0, { a: [2] }, [], {}])
      expect([value, rules([value])]).toEqual([value, ['enum']])
  })
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
    fc.constantFrom<unknown>(
      word,
      [word],
      [word, word],
      { [word]: word },
      { b: word, c: word },
      { [`x-${word}`]: true },
    ),
    fc.constantFrom<unknown>(1, null, true, [1, 1, 1]),
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
  fc.assert(
    fc.property(
      secret.chain((word) =>
        fc.tuple(fc.constant(word), fc.dictionary(fc.constantFrom(...names, word), tainted(word), { maxKeys: 12 })),
      ),
      ([word, body]) => {
        const violations = checkBody(schemaName, textValidators, Buffer.from(JSON.stringify(body))) ?? []
        if (violations.length > 0) violated++
        expectClean(violations, word)
      },
    ),
    { numRuns: 200 },
  )
  expect(violated).toBeGreaterThan(100)
})

test('no value and no name of a query or a field stands in a violation', () => {
  const parameter = (name: string, more: Partial<ParameterContract>): ParameterContract =>
    parameterOf({ name, required: true, schema: schemaName, ...more })
  const contract = {
    parameters: [
      parameter('plain', { types: ['number'] }),
      parameter('deep', {
        style: 'deepObject',
        types: ['object'],
        memberTypes: { id: ['string'], amount: ['number'] },
      }),
      parameter('json', { style: 'json', types: ['object'] }),
      parameter('pairs', { explode: false, types: ['object'] }),
      parameter('x-field', { in: 'header', style: 'simple', types: ['object'] }),
    ],
    body: null,
  }
  fc.assert(
    fc.property(secret, (word) => {
      const query = `?plain=${word}&deep[id]=${word}&deep[${word}]=1&json={"${word}":"${word}"}&pairs=${word},${word}&${word}`

      const { violations } = checkRequestHead(contract, textValidators, {
        query,
        fields: ['X-Field', `${word},${word}`],
        hasBody: false,
      })

      expect(violations.length).toBeGreaterThan(3)
      expectClean(violations, word)
    }),
    { numRuns: 50 },
  )
})

const tell = (body: unknown, described: object = schema): readonly string[] =>
  (checkBody(schemaName, validatorsOf(described, {}, names), Buffer.from(JSON.stringify(body))) ?? []).map(
    ({ pointer, detail }) => `${pointer} ${detail}`,
  )

test('what the contract allows is told, and a name that it does not know is not', () => {
  const body = { id: 'a', kind: 'three', either: 'b', other: true, strict: { a: 1, b: 2, other: 3 } }

  const told = tell(body, { ...schema, additionalProperties: false })

  expect(told).toEqual([
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
  [Array.from({ length: 3000 }, (_, i) => `code-${i}`), /^must be one of "code-0", .{150,}…$/],
  [['x'.repeat(100_000)], /^must be one of "x{183}…$/],
])('the values of an enumeration are told as far as there is room %#', (values, expected) => {
  const [violation] = validatorsOf({ enum: values }).validate(schemaName, 'none', 'body', { bytes: 6 })

  expect(violation?.detail).toMatch(expected)
  expect(violation?.detail.length).toBeLessThanOrEqual(maxTextLength)
})

test('names of the contract that are long are cut off', () => {
  const name = 'n'.repeat(5000)
  const errors = Array.from({ length: 100 }, (_, i) => ({
    instancePath: `/${i}/${name}`,
    keyword: 'type',
    params: {},
    message: name,
  }))
  const value = Array.from({ length: 100 }, () => ({ [name]: 1 }))

  const violations = toViolations(errors, value, 'body', '', new Set([name]))

  expect(violations).toHaveLength(maxViolations)
  for (const { pointer, detail } of violations)
    expect([pointer.length, detail.length]).toEqual([maxTextLength, maxTextLength])
})
