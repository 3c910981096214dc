import { createHmac } from 'node:crypto'
import { copyText } from '../../../core/lib/text/copy-text.ts'
import type { Difference } from './compare/comparison.ts'
import { type DifferenceRow, keepFrequentPairs, maxValuePairs, type ValuePairCount } from './comparison-report.ts'

interface ValuePairOptions {
  /** What digests are keyed with: one secret for all workers, made anew at each start. */
  readonly key: string
  readonly examples: boolean
}

const maxTextLength = 100

/** Counts the pairs of values that two answers had at one place. It keeps no value, unless examples are asked for. */
export class ValuePairs {
  readonly #options: ValuePairOptions
  readonly #pairs = new Map<string, { -readonly [Name in keyof ValuePairCount]: ValuePairCount[Name] }>()
  #others = 0

  constructor(options: ValuePairOptions) {
    this.#options = options
  }

  count({ primary, candidate, isSafe }: Difference, requestId: string | null): void {
    const digest = digestPair(this.#options.key, primary, candidate)
    const known = this.#pairs.get(digest)
    if (known !== undefined) {
      known.count++
      known.requestId = requestId
    } else if (this.#pairs.size < maxValuePairs) {
      const isTold = isSafe || this.#options.examples
      const values = isTold ? { primary: cut(primary), candidate: cut(candidate) } : null
      this.#pairs.set(digest, { digest, count: 1, requestId, values })
    } else this.#others++
  }

  get report(): Pick<DifferenceRow, 'pairs' | 'otherPairs'> {
    return keepFrequentPairs(
      [...this.#pairs.values()].map((pair) => ({ ...pair })),
      this.#others,
    )
  }
}

/** Digests two values. Without the key, the few that a grade may have cannot be tried one after the other. */
const digestPair = (key: string, primary: string, candidate: string): string =>
  createHmac('sha256', key)
    .update(`shadow pair\n${primary.length}\n${primary}${candidate}`)
    .digest()
    .toString('hex', 0, 8)

const cut = (text: string): string =>
  copyText(text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).toWellFormed()}…`)
