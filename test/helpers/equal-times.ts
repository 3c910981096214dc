import { expect } from 'vitest'

const tries = 20_000

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0

/** Measures what is done with each text, many times, and expects that it takes the same for all of them. */
export const expectEqualTimes = (
  texts: Readonly<Record<string, string>>,
  measureNs: (text: string) => number,
): void => {
  const times = new Map(Object.keys(texts).map((what): [string, number[]] => [what, []]))
  // In turns, so that whatever slows the machine slows all of them; the first ones warm up.
  for (let n = 0; n < tries; n++)
    for (const [what, text] of Object.entries(texts)) {
      const took = measureNs(text)
      if (n >= tries / 10) times.get(what)?.push(took)
    }

  const medians = [...times.values()].map(median)
  const all = median([...times.values()].flat())
  for (const each of medians) {
    expect(each).toBeGreaterThan(0.9 * all)
    expect(each).toBeLessThan(1.1 * all)
  }
}
