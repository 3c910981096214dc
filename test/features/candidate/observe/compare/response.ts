import type {
  ComparedResponse,
  ComparisonRules,
  ShadowResponse,
} from '../../../../../src/features/candidate/observe/compare/comparison.ts'
import {
  type ComparisonOptions,
  createComparisonCounts,
} from '../../../../../src/features/candidate/observe/comparison-counts.ts'

/** Creates a whole response of JSON, 200 unless said. */
export const comparedResponse = (body: string | Buffer, more: Partial<ComparedResponse> = {}): ComparedResponse => {
  const bytes = Buffer.from(body)
  return {
    status: 200,
    fields: ['Content-Type', 'application/json'],
    body: { length: bytes.length, bytes, sha256: null },
    failure: null,
    ...more,
  }
}

/** Creates a response with the fields, and no others. */
export const comparedResponseWith = (body: string | Buffer, ...fields: readonly string[]): ComparedResponse =>
  comparedResponse(body, { fields })

/** Creates a response with a body that is longer than is kept. `hash` null: it is longer than is read. */
export const longResponse = (length: number, hash: string | null, type = 'application/pdf'): ComparedResponse =>
  comparedResponse('', { fields: ['Content-Type', type], body: { length, bytes: null, sha256: hash } })

/** Creates rules by which everything counts, but for what differs. */
export const createRules = (more: Partial<ComparisonRules> = {}): ComparisonRules => ({
  ...{ fields: [], ignore: [], numbers: null, arrays: {} },
  ...more,
})

/** Counts what comparisons by these rules find. */
export const createCounts = (options: Partial<ComparisonOptions> = {}, digest = 'digest', key = 'key') => {
  const own = { maxBody: 1024 ** 2, noise: false, examples: false }
  return createComparisonCounts(digest, { ...createRules(), ...own, ...options }, key)
}

/** Creates the response of a side, of JSON, whose head took 10 ms unless said. */
export const shadowResponse = (body: unknown, more: Partial<ShadowResponse> = {}): ShadowResponse => ({
  ...comparedResponse(JSON.stringify(body)),
  headMs: 10,
  ...more,
})
