import { hash } from 'node:crypto'
import { describe, test } from 'vitest'
import { findOperatorToken } from '../../../../src/core/admin/access/operator-tokens.ts'
import type { AdminConfig } from '../../../../src/core/config/config.ts'
import { apiKeyAuthenticator } from '../../../../src/features/auth/api-key.ts'
import { getClientRegistry } from '../../../../src/features/auth/client-registry.ts'
import { expectEqualTimes } from '../../../helpers/equal-times.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

describe('of keys:', () => {
  // The attack: a client measures how long its rejections take, many times, and learns which ids there are, and how
  // much of a secret is right. A comparison that stops at the first difference, or that is left out for an id of no
  // client, takes less.
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
})

describe('of tokens of operators:', () => {
  // The attack: a client measures how long the look at its token takes, many times, and learns how much of one is
  // right, or which of the operators it belongs to. A comparison that stops at the first difference, or at the first
  // match, takes less.
  const right = 'A'.repeat(43)

  const admin: AdminConfig = {
    host: '127.0.0.1',
    port: 9901,
    hosts: [],
    token: 'B'.repeat(43),
    metricsToken: 'C'.repeat(43),
    tokens: [
      { name: 'first', hash: hash('sha256', right), scope: 'read' },
      ...Array.from({ length: 20 }, (_, i) => ({
        name: `n${i}`,
        hash: hash('sha256', `n${i}`),
        scope: 'read' as const,
      })),
      { name: 'last', hash: hash('sha256', 'D'.repeat(43)), scope: 'operate' },
    ],
    jwt: null,
    tls: null,
    insecure: false,
  }

  /** Measures one look, in nanoseconds. */
  const look = (token: string): number => {
    const begun = process.hrtime.bigint()
    findOperatorToken(token, admin)
    return Number(process.hrtime.bigint() - begun)
  }

  test('neither what is wrong with a token nor whose it is makes a difference to how long the look takes', () => {
    expectEqualTimes(
      {
        'admin.token': 'B'.repeat(43),
        'the first of the list': right,
        'the last of the list': 'D'.repeat(43),
        'the first letter is wrong': `x${right.slice(1)}`,
        'the last letter is wrong': `${right.slice(1)}x`,
        'all of it is wrong': 'x'.repeat(43),
      },
      look,
    )
  })
})
