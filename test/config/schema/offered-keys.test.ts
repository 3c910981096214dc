/** What editors offer and problems list as expected is accepted there, and nothing else is. */
import { describe, expect, test } from 'vitest'
import { jsonSchema } from '../../../src/config/json-schema.ts'
import { knownKeys, schemaKeys } from '../../../src/config/schema/schema-keys.ts'
import { allOperations } from '../../../src/operations.ts'
import { isPlainObject } from '../../../src/plain-object.ts'
import { findProblems, sandbox } from '../helper.ts'

const { definitions, ...root } = jsonSchema() as { readonly definitions: Record<string, unknown> }

/** Lists the keys that a JSON Schema names, by path; `*` and `#` as in {@link schemaKeys}. */
const namedKeys = (node: unknown, path: readonly string[] = []): readonly string[] => {
  if (Array.isArray(node)) return node.flatMap((each) => namedKeys(each, path))
  if (!isPlainObject(node)) return []
  const { $ref, properties, additionalProperties, items, anyOf, allOf, oneOf } = node
  const below = (key: string, part: unknown): readonly string[] => [
    [...path, key].join('.'),
    ...namedKeys(part, [...path, key]),
  ]
  return [
    ...(typeof $ref === 'string' ? namedKeys(definitions[$ref.replace('#/definitions/', '')], path) : []),
    ...Object.entries(Object(properties)).flatMap(([key, part]) => below(key, part)),
    ...(isPlainObject(additionalProperties) ? below('*', additionalProperties) : []),
    ...(items === undefined ? [] : below('#', items)),
    ...[anyOf, allOf, oneOf].flatMap((each) => namedKeys(each, path)),
  ]
}

test('the JSON Schema names every key that may stand somewhere, and no other', () => {
  const accepted = schemaKeys.filter(({ path, forbidden }) => path.length > 0 && !forbidden)

  expect([...new Set(namedKeys(root))].sort()).toEqual([...new Set(accepted.map(({ path }) => path.join('.')))].sort())
})

const rejected = /^(unknown key|there is no such key any more|only (POST|GET) operations|no such key)/

describe.each(allOperations.map(({ id }) => id))('of operations.%s', (id) => {
  const keys = knownKeys(['operations', id])

  test('an unknown key is told which keys are expected, and each of them may stand there', () => {
    const [unknown] = findProblems(`${sandbox}\noperations: { ${id}: { nonsense: 1 } }`)
    const messages = keys.flatMap((key) =>
      findProblems(`${sandbox}\noperations: { ${id}: { ${key}: x } }`).map(({ message }) => message),
    )

    expect(unknown?.expected).toBe(`one of ${keys.join(', ')}`)
    expect(messages.filter((message) => rejected.test(message))).toEqual([])
    expect(keys.length).toBeGreaterThan(5)
  })
})
