import { hash } from 'node:crypto'
import { test } from 'vitest'
import { findOperatorToken } from '../../../../src/core/admin/access/operator-tokens.ts'
import { apiKeyAuthenticator } from '../../../../src/features/auth/api-key.ts'
import { getClientRegistry } from '../../../../src/features/auth/client-registry.ts'
import { expectEqualTimes } from '../../../helpers/equal-times.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { testConfig } from '../../../helpers/gateway.ts'

const right = 'A'.repeat(43)
const wrong = {
  'the first letter of the secret': `x${right.slice(1)}`,
  'its last letter': `${right.slice(1)}x`,
  'all of it': 'x'.repeat(43),
}

/** Measures what is done, in nanoseconds. */
const measure = (act: () => unknown): number => {
  const begun = process.hrtime.bigint()
  try {
    act()
  } catch {}
  return Number(process.hrtime.bigint() - begun)
}

// The attack: a client measures how long its rejections take, many times, and learns which ids there are, and how much
// of a secret is right. A comparison that stops at the first difference, or that is left out for an id of no client,
// takes less.
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

// The attack: a client learns how much of an operator's token is right, or which of the operators it belongs to. A
// comparison that stops at the first match takes less, too.
test('neither what is wrong with a token nor whose it is makes a difference to how long the look takes', () => {
  const [first, last] = ['F'.repeat(43), 'D'.repeat(43)]
  const all = [first, ...Array.from({ length: 20 }, (_, i) => `n${i}`.padEnd(43, '-')), last]
  const tokens = all.map((token, n) => ({ name: `n${n}`, hash: hash('sha256', token), scope: 'read' }))
  const { admin } = testConfig({ admin: { token: right, metricsToken: 'C'.repeat(43), tokens } })

  expectEqualTimes({ 'admin.token': right, 'the first of the list': first, 'the last': last, ...wrong }, (token) =>
    measure(() => findOperatorToken(token, admin)),
  )
})
