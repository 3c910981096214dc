import { hash } from 'node:crypto'
import { test } from 'vitest'
import { apiKeyAuthenticator } from '../../../../src/features/auth/api-key.ts'
import { getClientRegistry } from '../../../../src/features/auth/client-registry.ts'
import { expectEqualTimes } from '../../../helpers/equal-times.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

// The attack: a client measures how long its rejections take, many times, and learns which ids there are, and how much
// of a secret is right. A comparison that stops at the first difference, or that is left out for an id of no client,
// takes less.
const secret = 'A'.repeat(43)

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

test('what is wrong with a key makes no difference to how long its rejection takes', () => {
  expectEqualTimes(
    {
      'an id that nobody has': `nobody.${secret}`,
      'the first letter of the secret': `known.B${secret.slice(1)}`,
      'its last letter': `known.${secret.slice(1)}B`,
      'all of it': `known.${'B'.repeat(43)}`,
    },
    rejection,
  )
})
