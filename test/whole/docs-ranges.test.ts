/** Checks that docs/configuration.md writes the bounds of each range as the file takes them. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findProblems } from '../core/config/helper.ts'

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')

/** The path of the section in front of the keys of a table, by the beginning of its heading. */
const prefixes: Readonly<Record<string, string>> = {
  ...{ 'listen:': 'listen.', 'limits:': 'limits.', 'admin:': 'admin.', 'audit:': 'audit.', 'cache:': 'cache.' },
  ...{ 'idempotency:': '', 'log,': '', 'defaults:': 'defaults.' },
}

/** The least and the greatest value of a key, as the page writes them. */
const ranges = page.split(/^### /m).flatMap((section) => {
  const prefix = prefixes[section.split(' ', 1)[0] ?? '']
  if (prefix === undefined) return []
  return [...section.matchAll(/^\| `([\w.]+)` \| [^|]*\| ([^|]*)\|/gm)].flatMap(([, key = '', range = '']) => {
    const [, least, greatest] = /^(\d[\w/%]*)–(\d[\w/%]*) *(?:,.*)?$/.exec(range) ?? []
    return least === undefined || greatest === undefined ? [] : [{ path: `${prefix}${key}`, values: [least, greatest] }]
  })
})

// Of the two, one may not be above the other.
const backoff = { base: '1ms', max: '1m' }

/** Writes a value at the path of a key, as the file has it. */
const fileWith = (path: string, value: string): string =>
  JSON.stringify(
    path
      .split('.')
      .reduceRight<unknown>(
        (below, key) => ({ [key]: key === 'backoff' ? { ...backoff, ...Object(below) } : below }),
        toYaml(value),
      ),
  )

const toYaml = (value: string): string | number => (/^\d+$/.test(value) ? Number(value) : value)

test.each(ranges)('$path takes $values', ({ path, values }) => {
  const problems = values.flatMap((value) => findProblems(fileWith(path, value)).filter((each) => each.path === path))

  expect(problems).toEqual([])
})

test('the tables have ranges', () => {
  expect(ranges.length).toBeGreaterThan(45)
})
