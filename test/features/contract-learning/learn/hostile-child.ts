/** Learns from hostile requests and responses in a process of its own, and prints what that costs in memory. */

import { serialize } from 'node:v8'
import { createLearner } from '../../../../src/features/contract-learning/learn/learner.ts'
import { allOperations } from '../../../../src/operations.ts'
import { createDraw, pick } from './hidden-schema.ts'
import { learnerOptions } from './learn-hidden-contract.ts'

const draw = createDraw(22)

const hex = (digits: number): string => Math.floor(draw() * 16 ** digits).toString(16)
const pool = Array.from({ length: 50_000 }, () => String.fromCharCode(97 + Math.floor(draw() * 26))).join('')
const letters = (length: number): string => {
  const at = Math.floor(draw() * (pool.length - length))
  return pool.slice(at, at + length)
}

// Names that pass for words, from few to endless many: each kind fills other bounds.
const name = (): string =>
  pick(draw, [letters(1), letters(2), letters(6), letters(60), `v${hex(3)}`, hex(12), '__proto__'])

const scalar = (): unknown =>
  pick(draw, [null, true, draw(), 1e300, letters(2).toUpperCase(), letters(1), letters(40), '2026-01-01', hex(8)])

const members = (count: number, nameOf: (at: number) => string, value: () => unknown): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [nameOf(at), value()]))

const nested = (depth: number): unknown =>
  depth === 0 ? scalar() : draw() < 0.5 ? [nested(depth - 1)] : { [letters(1)]: nested(depth - 1) }

const wide = (count: number): unknown =>
  members(count, name, () => (draw() < 0.3 && count > 1 ? wide(count >> 1) : scalar()))

/** A body of few names on each level, which fills the tree without becoming a map. */
const bushy = (depth: number): unknown =>
  depth === 0
    ? pick(draw, ['CODE', 'OTHER', letters(1)])
    : members(
        6,
        () => `member_of_a_rather_long_name_${letters(1)}`,
        () => bushy(depth - 1),
      )

/** A body of the same names each time, with values of all types in each place: as much as there is room for. */
const full = (depth: number): unknown =>
  depth === 0
    ? pick(draw, [1, -10, true, null, [], {}, letters(1).toUpperCase(), `LONG-CODE-${letters(1).toUpperCase()}`])
    : members(
        7,
        (at) => `member_${at}${'x'.repeat(50 + (at % 7))}`,
        () => full(depth - 1),
      )

const body = (): unknown =>
  process.argv[3] === 'full'
    ? full(pick(draw, [2, 3]))
    : pick(draw, [() => nested(60), () => wide(30), () => wide(2), () => bushy(3), scalar])()

const contentType = (): string | null =>
  pick(draw, [null, 'application/json', 'text/csv', `application/${letters(3)}+json`, hex(10), `image/${letters(30)}`])

const query = (): string => `?${Array.from({ length: 5 }, () => `${name()}=${scalar()}`).join('&')}`

const learner = createLearner(learnerOptions)
globalThis.gc?.()
const before = process.memoryUsage().heapUsed
const measure = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed - before
}
let most = 0
for (let i = 0; i < Number(process.argv[2]); i++) {
  const { id } = pick(draw, allOperations)
  const fields = [`X-${name()}`, letters(3), `x-${letters(2)}`, '']
  learner.observeRequest(id, { query: query(), fields, contentType: contentType(), body: body() })
  learner.observeResponse(id, { status: 200 + Math.floor(draw() * 400), contentType: contentType(), body: body() })
  if (i % 5000 === 0) most = Math.max(most, measure())
}
console.log(JSON.stringify({ heap: measure(), most, serialized: serialize(learner.report).length }))
