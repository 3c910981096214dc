import { expect, test } from 'vitest'
import type { Command } from '../../../../../src/core/admin/commands/command.ts'
import { rollbackCommands } from '../../../../../src/core/admin/commands/rollback.ts'
import { renderChanges, renderReloadRejection } from '../../../../../src/core/cli/render/config-diff.ts'
import { adminTarget } from '../../../../core/cli/scripted-admin.ts'

test('a list that looks the same before and after holds a secret that has changed', () => {
  const pairs = [{ certificate: '***', key: '***' }]
  const change = { part: 'listen', group: null, path: 'listen.tls.certificates', from: pairs, to: [...pairs] }

  expect(renderChanges([change])).toBe('for all groups\n  listen.tls.certificates  changed, not shown\n')
})

test('a candidate that came or went is named by its endpoints', () => {
  const candidate = { endpoints: ['http://b', { url: 'http://c', weight: 1 }], host: 'endpoint' }
  const change = { part: 'upstreams.risk', group: 'risk' as const, path: 'upstreams.risk.candidate' }

  expect(renderChanges([{ ...change, from: null, to: candidate }])).toBe(
    'risk\n  candidate  (not set) → http://b, http://c (weight 1)\n',
  )
  expect(renderChanges([{ ...change, from: candidate, to: null }])).toBe(
    'risk\n  candidate  http://b, http://c (weight 1) → (not set)\n',
  )
})

test('a rejection whose code is a member of every object is rendered as any other', () => {
  const [command] = rollbackCommands.commands
  const body = { code: 'constructor', hash: 'abcdefabcdef', problems: [], nextTry: null }

  expect(renderReloadRejection(adminTarget(1), command as Command, { status: 422, body, at: 0 })).toBe('0 problems\n')
})
