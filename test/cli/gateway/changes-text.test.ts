import { expect, test } from 'vitest'
import { changesText } from '../../../src/cli/gateway/changes-text.ts'

test('a list that looks the same before and after holds a secret that has changed', () => {
  const pairs = [{ certificate: '***', key: '***' }]
  const change = { part: 'listen', group: null, path: 'listen.tls.certificates', from: pairs, to: [...pairs] }

  expect(changesText([change])).toBe('for all groups\n  listen.tls.certificates  changed, not shown\n')
})
