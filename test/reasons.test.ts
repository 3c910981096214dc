import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { reasons, reasonText } from '../src/failures/reasons.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

test('docs/reasons.md lists every reason with its words, and no other', () => {
  const page = readFileSync(`${root}docs/reasons.md`, 'utf8')
  const listed = [...page.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, reason, text]) => [reason, text])

  expect(listed).toEqual(reasons.map((reason) => [reason, reasonText(reason)]))
})

test('each is a short word that a metric can carry, and words without a full stop', () => {
  for (const reason of reasons) {
    expect(reason).toMatch(/^[a-z]+(-[a-z]+)*$/)
    expect(reason.length).toBeLessThanOrEqual(32)
    expect(reasonText(reason)).toMatch(/^[^\n|`]{10,120}[^.]$/)
  }
})

test('each is given somewhere', () => {
  const sources = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && name !== 'failures/reasons.ts')
    .map((name) => readFileSync(`${root}src/${name}`, 'utf8'))
    .join('\n')

  expect(reasons.filter((reason) => !sources.includes(`'${reason}'`))).toEqual([])
  expect(reasons.length).toBeGreaterThan(80)
})

test('each key that the words name is one of the configuration', () => {
  const page = readFileSync(`${root}docs/configuration.md`, 'utf8')
  const keys = reasons.flatMap((reason) => reasonText(reason).match(/\b[a-z][A-Za-z]*(?:\.[a-z][A-Za-z]*)+\b/g) ?? [])

  const unknown = keys.filter((key) => !new RegExp(`\`(?:[\\w.]+\\.)?${key.split('.').at(-1)}\``).test(page))

  expect(keys).toContain('listen.maxHeaderFields')
  expect(unknown).toEqual([])
})
