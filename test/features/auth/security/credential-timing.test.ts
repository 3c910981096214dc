import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { findOperatorToken } from '../../../../src/core/admin/access/operator-tokens.ts'
import { apiKeyAuthenticator } from '../../../../src/features/auth/api-key.ts'
import { getClientRegistry } from '../../../../src/features/auth/client-registry.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { testConfig } from '../../../helpers/gateway.ts'

const right = 'A'.repeat(43)
const wrong = {
  'the first letter of the secret': `x${right.slice(1)}`,
  'its last letter': `${right.slice(1)}x`,
  'all of it': 'x'.repeat(43),
}

const tries = 8_000
const rounds = 3

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0

/** Measures each function many times; returns the median of each, relative to the median of all. */
const measureRatios = (
  texts: Readonly<Record<string, string>>,
  measureNs: (text: string) => number,
): Readonly<Record<string, number>> => {
  const kinds = Object.entries(texts)
  const times = new Map(kinds.map(([what]): [string, number[]] => [what, []]))
  // In turns, so that a slow machine slows all alike; the first of a turn alternates, because it pays for what came
  // between. The first turns warm up.
  for (let n = 0; n < tries; n++)
    for (let at = 0; at < kinds.length; at++) {
      const [what = '', text = ''] = kinds[(n + at) % kinds.length] ?? []
      const took = measureNs(text)
      if (n >= tries / 10) times.get(what)?.push(took)
    }

  const all = median([...times.values()].flat())
  return Object.fromEntries([...times].map(([what, each]) => [what, median(each) / all]))
}

/** Expects equal times. A real difference appears in every round, a busy machine's only in some. */
const expectEqualTimes = (texts: Readonly<Record<string, string>>, measureNs: (text: string) => number): void => {
  const measured: Readonly<Record<string, number>>[] = []
  const isEqual = (ratio: number): boolean => ratio > 0.9 && ratio < 1.1
  for (let round = 0; round < rounds; round++) {
    const ratios = measureRatios(texts, measureNs)
    if (Object.values(ratios).every(isEqual)) return
    measured.push(ratios)
  }
  expect.fail(`the times differ in each round: ${JSON.stringify(measured)}`)
}

/** Measures what is done, in nanoseconds. */
const measure = (act: () => unknown): number => {
  const begun = process.hrtime.bigint()
  try {
    act()
  } catch {}
  return Number(process.hrtime.bigint() - begun)
}

// The attack: a client measures the time of its rejections to learn which ids exist, and how much of a secret is right.
// A comparison that stops at the first difference, or is left out for an unknown id, takes less time.
test('what is wrong with a key makes no difference to how long its rejection takes', () => {
  const apiKeys = [{ id: 'known', sha256: hash('sha256', right) }]
  const client = {
    id: 'bank-a',
    disabled: false,
    apiKeys,
    claims: {},
    certificates: [],
    operations: null,
    addresses: [],
  }
  const method = apiKeyAuthenticator('X-Api-Key', getClientRegistry([client]))
  const keys = Object.entries(wrong).map(([what, secret]) => [what, `known.${secret}`])

  expectEqualTimes({ 'an id that nobody has': `nobody.${right}`, ...Object.fromEntries(keys) }, (key) => {
    const exchange = fakeExchange({ fields: ['X-Api-Key', key] })
    return measure(() => method.authenticate(exchange))
  })
})

// The attack: a client learns how much of an operator's token is right, or whose token it is. A comparison that stops
// at the first match takes less time.
test('neither what is wrong with a token nor whose it is makes a difference to how long the look takes', () => {
  const [first, last] = ['F'.repeat(43), 'D'.repeat(43)]
  const all = [first, ...Array.from({ length: 20 }, (_, i) => `n${i}`.padEnd(43, '-')), last]
  const tokens = all.map((token, n) => ({ name: `n${n}`, hash: hash('sha256', token), scope: 'read' }))
  const { admin } = testConfig({ admin: { token: right, metricsToken: 'C'.repeat(43), tokens } })

  expectEqualTimes({ 'admin.token': right, 'the first of the list': first, 'the last': last, ...wrong }, (token) =>
    measure(() => findOperatorToken(token, admin)),
  )
})
