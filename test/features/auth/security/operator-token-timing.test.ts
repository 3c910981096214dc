import { hash } from 'node:crypto'
import { test } from 'vitest'
import { findOperatorToken } from '../../../../src/core/admin/access/operator-tokens.ts'
import type { AdminConfig } from '../../../../src/core/config/config.ts'
import { expectEqualTimes } from '../../../helpers/equal-times.ts'

// The attack: a client measures how long the look at its token takes, many times, and learns how much of one is right,
// or which of the operators it belongs to. A comparison that stops at the first difference, or at the first match,
// takes less.
const right = 'A'.repeat(43)

const admin: AdminConfig = {
  host: '127.0.0.1',
  port: 9901,
  hosts: [],
  token: 'B'.repeat(43),
  metricsToken: 'C'.repeat(43),
  tokens: [
    { name: 'first', hash: hash('sha256', right), scope: 'read' },
    ...Array.from({ length: 20 }, (_, i) => ({ name: `n${i}`, hash: hash('sha256', `n${i}`), scope: 'read' as const })),
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
