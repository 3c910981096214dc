import { expect, test } from 'vitest'
import { renderDraft } from '../../../../src/features/contract-learning/learn/draft.ts'
import { createLearner, type Learner } from '../../../../src/features/contract-learning/learn/learner.ts'
import { childShapes, measureShapes, type Shape } from '../../../../src/features/contract-learning/learn/shape.ts'
import { allOperations, type OperationId } from '../../../../src/operations.ts'
import { compileSchema, operationOf } from './draft-checker.ts'
import { learnerOptions, requestOf } from './learn-hidden-contract.ts'

const observe = (learner: Learner, operation: OperationId, body: unknown): void =>
  learner.observeRequest(operation, requestOf({ body }))

const shapeOf = (learner: Learner, operation: OperationId): Shape => {
  const content = learner.report.operations.get(operation)?.request.content
  const found = content?.mediaTypes.named.get('application/json')?.learned.body
  if (found === undefined) throw new Error('nothing was learned')
  return found
}

/** An object with as many members on each level. */
const tree = (width: number, depth: number, leaf: unknown): unknown =>
  depth === 0
    ? leaf
    : Object.fromEntries(Array.from({ length: width }, (_, i) => [`m${i}`, tree(width, depth - 1, leaf)]))

const depthOf = (shape: Shape): number => Math.max(0, ...childShapes(shape).map((child) => 1 + depthOf(child)))

test('an operation with many shapes loses its deepest, and keeps its top', () => {
  const learner = createLearner(learnerOptions)
  for (const { id } of allOperations) for (let i = 0; i < 12; i++) observe(learner, id, { top: 1, of: tree(9, 3, i) })

  const shapes = allOperations.map(({ id }) => shapeOf(learner, id))
  expect(measureShapes(shapes).shapes).toBeLessThanOrEqual(4096 + shapes.length)
  expect([...new Set(shapes.map(depthOf))].toSorted()).toEqual([3, 4])
  for (const shape of shapes) expect([...(shape.objects?.members.named.keys() ?? [])]).toEqual(['top', 'of'])
})

test('a huge body of one operation leaves what is known of another', () => {
  const learner = createLearner(learnerOptions)
  for (let i = 0; i < 12; i++) observe(learner, 'valuation.score', tree(5, 3, 'x'))
  const before = measureShapes([shapeOf(learner, 'valuation.score')])
  observe(learner, 'inventory.sync', tree(20, 4, 1))

  expect(measureShapes([shapeOf(learner, 'valuation.score')])).toEqual(before)
  expect(measureShapes([shapeOf(learner, 'inventory.sync')]).shapes).toBeLessThanOrEqual(4096)
})

test('forgotten levels stay forgotten, and the draft accepts the learned messages', () => {
  const learner = createLearner(learnerOptions)
  const trees = [tree(20, 4, 1), tree(3, 4, 'text'), tree(3, 4, null), tree(1, 50, [])]
  const bodies = [...trees, { m0: 1 }, { m0: [[tree(9, 4, 1)]] }]
  for (let i = 0; i < 12; i++) for (const body of bodies) observe(learner, 'inventory.sync', body)

  const { requestBody } = operationOf(renderDraft(learner.report), '/inventory/sync', 'post')
  const accepts = compileSchema(requestBody?.content?.['application/json']?.schema ?? {})

  expect(bodies.filter((body) => !accepts(body))).toEqual([])
  expect(JSON.stringify(requestBody)).toContain('members beyond the bounds of learning')
})

test('a body of many levels is learned to the thirty-second', () => {
  const learner = createLearner(learnerOptions)
  observe(learner, 'inventory.sync', JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`))
  observe(learner, 'inventory.sync', JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`))

  expect(depthOf(shapeOf(learner, 'inventory.sync'))).toBe(32)
})
