import { expect } from 'vitest'

const tries = 8_000
const rounds = 3

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0

/** Measures what is done with each text, many times; returns the median of each by that of all. */
const measureRatios = (
  texts: Readonly<Record<string, string>>,
  measureNs: (text: string) => number,
): Readonly<Record<string, number>> => {
  const kinds = Object.entries(texts)
  const times = new Map(kinds.map(([what]): [string, number[]] => [what, []]))
  // In turns, so that whatever slows the machine slows all of them, and each as often the first of its turn, which pays
  // for what came between; the first turns warm up.
  for (let n = 0; n < tries; n++)
    for (let at = 0; at < kinds.length; at++) {
      const [what = '', text = ''] = kinds[(n + at) % kinds.length] ?? []
      const took = measureNs(text)
      if (n >= tries / 10) times.get(what)?.push(took)
    }

  const all = median([...times.values()].flat())
  return Object.fromEntries([...times].map(([what, each]) => [what, median(each) / all]))
}

/**
 * Expects that what is done with each text takes the same time for all of them. What makes a difference makes it in
 * every round, and a busy machine in one or the other.
 */
export const expectEqualTimes = (
  texts: Readonly<Record<string, string>>,
  measureNs: (text: string) => number,
): void => {
  const measured: Readonly<Record<string, number>>[] = []
  const isEqual = (ratio: number): boolean => ratio > 0.9 && ratio < 1.1
  for (let round = 0; round < rounds; round++) {
    const ratios = measureRatios(texts, measureNs)
    if (Object.values(ratios).every(isEqual)) return
    measured.push(ratios)
  }
  expect.fail(`the times differ in each round: ${JSON.stringify(measured)}`)
}
