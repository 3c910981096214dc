import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Violation } from '../../../../src/core/exchange/failures/errors.ts'
import { checkBody, checkRequestHead } from '../../../../src/features/contract/check/check-message.ts'
import type { ParameterContract } from '../../../../src/features/contract/check/compiled-contract.ts'
import { maxTextLength, maxViolations, toViolations } from '../../../../src/features/contract/check/validators.ts'
import { schemaName, validatorsOf } from '../validators.ts'

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
const validators = validatorsOf(schema, {}, names)

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
        const violations = checkBody(schemaName, validators, Buffer.from(JSON.stringify(body))) ?? []
        if (violations.length > 0) violated++
        expectClean(violations, word)
      },
    ),
    { numRuns: 1000 },
  )
  expect(violated).toBeGreaterThan(500)
})

test('no value and no name of a query or a field stands in a violation', () => {
  const parameter = (name: string, more: Partial<ParameterContract>): ParameterContract => ({
    in: 'query',
    name,
    required: true,
    style: 'form',
    explode: true,
    allowsEmpty: false,
    types: [],
    itemTypes: [],
    memberTypes: {},
    otherMemberTypes: [],
    schema: schemaName,
    ...more,
  })
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

      const { violations } = checkRequestHead(contract, validators, {
        query,
        fields: ['X-Field', `${word},${word}`],
        hasBody: false,
      })

      expect(violations.length).toBeGreaterThan(3)
      expectClean(violations, word)
    }),
    { numRuns: 200 },
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
