/** What editors offer and problems list as expected is accepted there, and nothing else is. */
import { expect, test } from 'vitest'
import { jsonSchema, knownKeys, schemaKeys } from '../../../../src/core/config/schema/schema-keys.ts'
import { isPlainObject } from '../../../../src/core/lib/plain-object.ts'
import { groups } from '../../../../src/operations.ts'
import { findProblems } from '../../../core/config/helper.ts'

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

/** The paths of all objects: of one group, of a candidate, of each operation, of defaults, admin and every section. */
const objects = [...new Set(schemaKeys.map(({ path }) => path.slice(0, -1).join(' ')))]
  .map((path) => path.split(' '))
  .filter(([section = '', group]) => section !== '' && (section !== 'upstreams' || group === 'risk'))
  .filter((path) => knownKeys(concrete(path)).length > 0)

function concrete(path: readonly string[]): readonly (string | number)[] {
  return path.map((key) => (key === '#' ? 0 : key === '*' ? 'k' : key))
}

/** Makes a file with a value at a path, and the sandbox where nothing is. */
const fileWith = (path: readonly string[], value: unknown): string => {
  const tree = path.reduceRight((below, key) => (key === '#' ? [below] : { [key === '*' ? 'k' : key]: below }), value)
  const { upstreams = {}, ...more } = tree as Record<string, object>
  const all = { ...Object.fromEntries(groups.map((group) => [group, 'sandbox'])), ...upstreams }
  return JSON.stringify({ upstreams: all, ...more })
}

test.each(objects.map((path) => [path.join('.'), path] as const))(
  'an unknown key of %s is told which keys are expected, and each of them may stand there',
  (_, path) => {
    const keys = knownKeys(concrete(path))

    const [unknown] = findProblems(fileWith(path, { nonsense: 1 })).filter(({ message }) => message === 'unknown key')
    const messages = findProblems(fileWith(path, Object.fromEntries(keys.map((key) => [key, 'x'])))).map(
      ({ message }) => message,
    )

    expect(unknown?.expected).toBe(`one of ${keys.join(', ')}`)
    expect(messages.filter((message) => rejected.test(message))).toEqual([])
  },
)
