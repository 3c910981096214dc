import { expect, test } from 'vitest'
import type { ReloadOutcome } from '../../../../src/core/runtime/reload/reload-history.ts'
import { ReloadHistory } from '../../../../src/core/runtime/reload/reload-history.ts'

const rollback: ReloadOutcome = {
  result: 'unchanged',
  from: 'a',
  to: 'a',
  changes: [],
  warnings: [],
  forced: false,
  switchedOff: [],
  neverRan: null,
}
const deferred = (known: boolean): ReloadOutcome => {
  const held = { hash: 'b', problems: [], since: 0, tries: 1, nextTryAt: 0, known }
  return { result: 'refused', hash: 'a', problems: [], held, unanswered: null }
}

test('an edit that is tried again and again for the same reason is remembered once, and counted each time', () => {
  const history = new ReloadHistory()

  history.add('rollback', rollback)
  for (let n = 0; n < 30; n++) history.add('preflight', deferred(n > 0))

  expect(history.last.map(({ trigger }) => trigger)).toEqual(['preflight', 'rollback'])
  expect(history.counts).toContainEqual({ trigger: 'preflight', result: 'refused', count: 30 })
})

test('the last twenty are remembered, the newest first', () => {
  const history = new ReloadHistory()

  history.add('start', rollback)
  for (let n = 0; n < 19; n++) history.add('file', rollback)
  const twenty = history.last.at(-1)?.trigger
  history.add('signal', rollback)

  expect(twenty).toBe('start')
  expect(history.last.map(({ trigger }) => trigger)).toEqual(['signal', ...Array(19).fill('file')])
})
