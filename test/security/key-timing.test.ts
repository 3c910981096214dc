import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { apiKeyAuthenticator } from '../../src/layers/auth/api-key.ts'
import { getClientRegistry } from '../../src/layers/auth/client-registry.ts'
import { fakeExchange } from '../helpers/exchange.ts'

// The attack: a client measures how long its rejections take, many times, and learns which ids there are, and how much
// of a secret is right. A comparison that stops at the first difference, or that is left out for an id of no client,
// takes less.
const secret = 'A'.repeat(43)
const tries = 20_000

const method = apiKeyAuthenticator(
  'X-Api-Key',
  getClientRegistry([
    {
      id: 'bank-a',
      disabled: false,
      apiKeys: [{ id: 'known', sha256: hash('sha256', secret) }],
      claims: {},
      certificates: [],
      operations: null,
      addresses: [],
    },
  ]),
)

/** Measures one rejection, in nanoseconds. */
const rejection = (key: string): number => {
  const exchange = fakeExchange({ fields: ['X-Api-Key', key] })
  const begun = process.hrtime.bigint()
  try {
    method.authenticate(exchange)
  } catch {
    return Number(process.hrtime.bigint() - begun)
  }
  throw new Error('it was let in')
}

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0

test('what is wrong with a key makes no difference to how long its rejection takes', () => {
  const keys = {
    'an id that nobody has': `nobody.${secret}`,
    'the first letter of the secret': `known.B${secret.slice(1)}`,
    'its last letter': `known.${secret.slice(1)}B`,
    'all of it': `known.${'B'.repeat(43)}`,
  }
  const times = new Map(Object.keys(keys).map((what): [string, number[]] => [what, []]))
  // In turns, so that whatever slows the machine slows all of them; the first ones warm up.
  for (let n = 0; n < tries; n++)
    for (const [what, key] of Object.entries(keys)) {
      const took = rejection(key)
      if (n >= tries / 10) times.get(what)?.push(took)
    }

  const medians = [...times.values()].map(median)
  const all = median([...times.values()].flat())
  for (const each of medians) {
    expect(each).toBeGreaterThan(0.9 * all)
    expect(each).toBeLessThan(1.1 * all)
  }
})
