import { expect, test } from 'vitest'
import type { Command } from '../../../src/admin/commands/command.ts'
import { rollback } from '../../../src/admin/commands/reload.ts'
import { changesText, refusedText } from '../../../src/cli/gateway/changes-text.ts'
import { target } from './helper.ts'

test('a list that looks the same before and after holds a secret that has changed', () => {
  const pairs = [{ certificate: '***', key: '***' }]
  const change = { part: 'listen', group: null, path: 'listen.tls.certificates', from: pairs, to: [...pairs] }

  expect(changesText([change])).toBe('for all groups\n  listen.tls.certificates  changed, not shown\n')
})

test('a refusal whose code is a member of every object is read as any other', () => {
  const [command] = rollback.commands
  const body = { code: 'constructor', hash: 'abcdefabcdef', problems: [], nextTry: null }

  expect(refusedText(target(1), command as Command, { status: 422, body, at: 0 })).toBe('0 problems\n')
})
