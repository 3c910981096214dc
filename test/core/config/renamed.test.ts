/** With a table of its own: the real one changes with each release. */
import { expect, test, vi } from 'vitest'
import { suggestNearest } from '../../../src/core/config/suggest.ts'
import { findProblems, sandbox } from './helper.ts'

const renamed: ReadonlyMap<string, string> = new Map([
  ['processes', 'workers'],
  ['discard', 'drop'],
])

vi.mock('../../../src/core/config/renamed.ts', () => ({
  findRenamed: (old: string, known: readonly string[]) => known.find((name) => name === renamed.get(old)),
}))

test('a key that was renamed is an error that names the new key', () => {
  expect(findProblems(`processes: 2\n${sandbox}`)).toMatchObject([
    { line: 1, path: 'processes', message: 'this key is now named workers', hint: 'write workers' },
  ])
})

test('a value that was renamed is an error that names the new value', () => {
  expect(findProblems(`listen:\n  overrideFields: discard\n${sandbox}`)).toMatchObject([
    { line: 2, path: 'listen.overrideFields', message: 'this value is now named drop', hint: 'write drop' },
  ])
})

test('an old name is no hint where the new one does not belong', () => {
  expect(findProblems(`listen:\n  processes: 2\n${sandbox}`)).toMatchObject([
    { path: 'listen.processes', message: 'unknown key' },
  ])
})

test('a command of an old name gets the new one as a suggestion', () => {
  expect(suggestNearest('discard', ['drop', 'forward'])).toBe('drop')
})
