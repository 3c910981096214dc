import { deserialize, serialize } from 'node:v8'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bodyShapes } from '../../../../src/features/contract-learning/learn/learn-message.ts'
import { mergeLearned } from '../../../../src/features/contract-learning/learn/learned-contract.ts'
import { createLearner, type Learner } from '../../../../src/features/contract-learning/learn/learner.ts'
import { learnedInTable } from '../../../../src/features/contract-learning/learn/name-table.ts'
import { measureShapes } from '../../../../src/features/contract-learning/learn/shape.ts'
import { learnerOptions, requestOf } from './learn-hidden-contract.ts'

const name = fc.constantFrom('id', 'a', 'b', 'status', 'items', 'K7Q9-M2X4-P8L1', '2024')
const word = fc.stringMatching(/^[a-z]{1,2}$/)
const scalar = fc.oneof(
  fc.constantFrom(null, true, 'APPROVED', 'B', 'closed', '2026-01-01', '12', -5, 0.5, Infinity, 123456),
  word,
)

/** Bodies in which places meet values of several types, and in which objects become maps. */
const { body } = fc.letrec<{ body: unknown }>((tie) => ({
  body: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie('body'), { maxLength: 3 }),
    fc.dictionary(name, tie('body'), { maxKeys: 4 }),
    fc.dictionary(word, scalar, { maxKeys: 40 }),
  ),
}))

const types = fc.constantFrom(null, 'application/json', 'Text/CSV; header=present', 'x')

const message = fc.record({
  status: fc.oneof(fc.constantFrom(200, 404), fc.integer({ min: 200, max: 230 })),
  contentType: fc.oneof(
    types,
    word.map((type) => `image/${type}`),
  ),
  body: fc.option(body, { nil: undefined }),
  query: fc
    .array(fc.tuple(fc.oneof(name, word), fc.constantFrom('1', '007', 'true', '', 'x%20y')))
    .map((pairs) => `?${pairs.map((pair) => pair.join('=')).join('&')}`),
  fields: fc.array(fc.tuple(word, fc.string())).map((all) => all.flatMap(([field, value]) => [`X-${field}`, value])),
})

type Message = typeof message extends fc.Arbitrary<infer T> ? T : never

const observe = (learner: Learner, messages: readonly Message[]): void => {
  for (const each of messages) {
    learner.observeRequest('inventory.sync', each)
    learner.observeResponse('inventory.sync', each)
  }
}
const learn = (messages: readonly Message[]) => {
  const learner = createLearner(learnerOptions)
  observe(learner, messages)
  return learner.report
}
const messageOf = (body: unknown): Message => ({ ...requestOf(), status: 200, body, fields: [] })

const messages = fc.array(message, { maxLength: 20, size: 'max' })

// Statuses, parameters, fields and content types past their bound are those that came last: here none are.
const fewMessages = fc.array(
  message.map(({ body }) => ({ ...messageOf(body), query: '?a=1&id=x&id=', fields: ['X-A', '', 'X-B', ''] })),
  { maxLength: 20, size: 'max' },
)

test('reports merge in any order, also beyond the bounds', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(messages, messages, messages, (...parts) => {
      const [a, b, c] = parts.map(learn)
      if (a === undefined || b === undefined || c === undefined) return

      const left = mergeLearned([mergeLearned([a, b]), c])

      expect(left).toEqual(mergeLearned([a, mergeLearned([b, c])]))
      expect(left).toEqual(mergeLearned([c, b, a]))
      expect(left).toEqual(mergeLearned([a, b, c]))
    }),
    { numRuns: 15 },
  )
})

test('several learners have learned what one would have learned alone', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(fewMessages, fewMessages, (one, other) => {
      const together = byHash(mergeLearned([learn(one), learn(other)]))

      expect(together).toEqual(byHash(learn([...one, ...other])))
    }),
    { numRuns: 20 },
  )
})

test('a name that each worker saw twice stays unnamed, and what was learned of it is merged', () => {
  const twice = (sku: unknown) => learn([messageOf({ sku }), messageOf({ sku })])

  const merged = mergeLearned([twice('a'), twice(7)])

  const body = merged.operations.get('inventory.sync')?.request.content.mediaTypes.named.get('application/json')
    ?.learned.body
  expect(body?.objects?.members.named.size).toBe(0)
  expect([...(body?.objects?.members.unnamed.values() ?? [])]).toMatchObject([
    { sightings: 2, learned: { count: 4, strings: { count: 2 }, numbers: { count: 2 } } },
  ])
})

test('reports cross between processes as they are, and merging leaves them so', () => {
  const report = learn(Array(3).fill({ ...messageOf({ a: [1] }), query: '?a=1' }))
  const copy = deserialize(serialize(report))
  mergeLearned([report, report])

  expect(copy).toEqual(report)
})

/** Writes tables by the hashes of names: which of two learners knows the name itself depends on what each saw. */
const byHash = (value: unknown): unknown => {
  if (value instanceof Map) return new Map([...value].map(([key, each]) => [key, byHash(each)]))
  if (typeof value !== 'object' || value === null) return value
  if ('named' in value && value.named instanceof Map && 'unnamed' in value && value.unnamed instanceof Map) {
    const named = [...value.named.values()].map(({ hash, learned }) => [hash, byHash(learned)] as const)
    return new Map([...named, ...[...value.unnamed].map(([hash, { learned }]) => [hash, byHash(learned)] as const)])
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, byHash(each)]))
}

test('a learner that adopts a report equals a merge, and continues to learn', () => {
  fc.assert(
    fc.property(fewMessages, fewMessages, fewMessages, (first, second, third) => {
      const learner = createLearner(learnerOptions)

      observe(learner, first)
      learner.adopt(learn(second))

      expect(learner.report).toEqual(mergeLearned([learn(first), learn(second)]))
      observe(learner, third)
      const total = first.length + second.length + third.length
      expect(learner.report.operations.get('inventory.sync')?.request.content.count ?? 0).toBe(total)
    }),
    { numRuns: 25 },
  )
})

test('repeated adoption stays within the bounds of one learner', () => {
  const wide = (prefix: string, depth: number): object =>
    Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`${prefix}${i}`, depth === 0 ? i : wide(prefix, depth - 1)]),
    )
  const learner = createLearner(learnerOptions)

  for (const prefix of ['a', 'b', 'c', 'd']) learner.adopt(learn([messageOf(wide(prefix, 2))]))

  const sides = [...learner.report.operations.values()].flatMap(({ request, responses }) => [
    ...bodyShapes(request.content),
    ...learnedInTable(responses).flatMap(bodyShapes),
  ])
  expect(measureShapes(sides).shapes).toBeLessThan(5000)
})
