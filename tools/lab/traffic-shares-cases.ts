/**
 * What the shares of the traffic are shown on: an endpoint that is fast because it is wrong, that fails, or that is
 * slow, beside sound ones.
 */
import type { Group } from '../../src/operations.ts'

/** An endpoint: what it responds with, after how many milliseconds, and its weight. */
export interface CaseEndpoint {
  readonly status: number
  readonly ms: number
  readonly weight: number
}

/** A group with its endpoints. The first is the one that is watched. */
export interface Case {
  /** The group that it stands behind. Each has its own. */
  readonly group: Group
  readonly name: string
  readonly endpoints: readonly CaseEndpoint[]
  readonly outlier: boolean
  readonly retry: boolean
}

/**
 * What a case came to: requests at the watched endpoint and at all, what clients got, and how long they waited.
 */
export interface CaseResult {
  readonly watched: number
  readonly all: number
  readonly asked: number
  readonly failed: number
  readonly p99: number
}

/** Measures a case with so many requests on their way at once. */
export type Measure = (each: Case, lanes: number) => Promise<CaseResult>

const caseEndpoint = (ms: number, { status = 200, weight = 100 } = {}): CaseEndpoint => ({ status, ms, weight })
const beside = (count: number, ms: number): readonly CaseEndpoint[] =>
  Array.from({ length: count }, () => caseEndpoint(ms))
const failing = [caseEndpoint(0, { status: 503 }), caseEndpoint(5)]
const usual = { outlier: true, retry: false }

export const cases: readonly Case[] = [
  {
    group: 'analysis',
    name: 'weight 10 beside 100, responds with 404 at once beside 5 ms',
    endpoints: [caseEndpoint(0, { status: 404, weight: 10 }), caseEndpoint(5)],
    ...usual,
  },
  {
    group: 'leads',
    name: 'one of two, responds with 503 at once, `outlier: none`',
    endpoints: failing,
    outlier: false,
    retry: false,
  },
  { group: 'market', name: 'the same, with `retry`', endpoints: failing, outlier: false, retry: true },
  { group: 'compliance', name: 'the same, with `outlier`, without `retry`', endpoints: failing, ...usual },
  {
    group: 'valuation',
    name: 'one of two, takes 20 ms beside 1 ms',
    endpoints: [caseEndpoint(20), ...beside(1, 1)],
    ...usual,
  },
  { group: 'financing', name: 'one of two that are equal, 5 ms', endpoints: beside(2, 5), ...usual },
  {
    group: 'risk',
    name: 'one of ten, takes 50 ms beside 5 ms',
    endpoints: [caseEndpoint(50), ...beside(9, 5)],
    ...usual,
  },
  {
    group: 'inventory',
    name: 'one of three, takes 50 ms beside 5 ms',
    endpoints: [caseEndpoint(50), ...beside(2, 5)],
    ...usual,
  },
]

/** Finds the time within which so many per cent got responses. */
export const percentileOf = (times: readonly number[], percent: number): number =>
  times.toSorted((one, other) => one - other)[Math.floor((times.length * percent) / 100)] ?? 0

/** Writes a share in per cent. */
export const percent = (part: number, whole: number): string => ((100 * part) / whole).toFixed(1)

/** Returns the watched endpoint's share of the weight. */
export const weightShare = ({ endpoints }: Case): number =>
  (endpoints[0]?.weight ?? 0) / endpoints.reduce((sum, { weight }) => sum + weight, 0)
