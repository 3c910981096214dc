/**
 * Tests of two speeds in one file. `npm test` runs what is declared with `test`; the drills run what is declared with
 * `drill`, through a `NAME.drill.ts` that imports `NAME.test.ts`. So each test stands where its arrangement stands, and
 * runs once.
 */
import { describe, inject, type SuiteAPI, type TestAPI, test as vitestTest } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    readonly speed: 'test' | 'drill'
  }
}

/** Whether the drills run, for a number that is larger there. */
export const inDrills: boolean = inject('speed') === 'drill'

// Not skipped: a test that is skipped is one that could not be run.
const nothing: unknown = new Proxy(() => nothing, { get: () => nothing })

/** Declares a test that `npm test` runs. */
export const test: TestAPI = inDrills ? (nothing as TestAPI) : vitestTest

/** Declares a test that the drills run. */
export const drill: TestAPI = inDrills ? vitestTest : (nothing as TestAPI)

/** Declares a suite that has no drills. One that has both is vitest's `describe`. */
export const describeTests: SuiteAPI = inDrills ? (nothing as SuiteAPI) : describe

/** Declares a suite that has nothing but drills. */
export const describeDrills: SuiteAPI = inDrills ? describe : (nothing as SuiteAPI)

/** Declares a test that both run, each with its `part` of the cases or with numbers of its own. */
export const testAndDrill: TestAPI = vitestTest

interface Part {
  <Row extends unknown[] | [unknown]>(rows: readonly Row[], first?: number): Row[]
  <Case>(cases: readonly Case[], first?: number): Case[]
}

/** Returns the first of some cases, one or more, for `npm test`, and the others for the drills. */
export const part: Part = <Case>(cases: readonly Case[], first = 1): Case[] =>
  inDrills ? cases.slice(first) : cases.slice(0, first)

/**
 * Returns every fourth of very many cases for `npm test`, and the others for the drills. Where the same cases are
 * run in several ways, an `offset` for each way has `npm test` run every case in one of them.
 */
export const sample = <Case>(cases: readonly Case[], offset = 0): Case[] =>
  cases.filter((_, nth) => (nth % 4 === offset % 4) !== inDrills)

/** Returns how often a property is tried: `full` times in the drills, a fifth of that in `npm test`. */
export const runs = (full: number): number => (inDrills ? full : Math.ceil(full / 5))
