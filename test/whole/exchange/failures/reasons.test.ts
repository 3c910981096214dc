import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { reasonsFor, reasonTable, reasonText } from '../../../../src/core/exchange/failures/errors.ts'
import { allFailureKinds, failureTable } from '../../../../src/core/exchange/failures/kinds.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const all = reasonsFor(...allFailureKinds)

/**
 * Renders the tables of a page: each stands below a line that names its kinds, and has the reasons whose first kind is
 * among them.
 */
const withTables = (page: string): string =>
  page.replace(/^(`[a-z`, -]+`)\n\n(\|.*\n\|.*\n)(?:\|.*\n)*/gm, (_, named: string, head: string) => {
    const kinds = named.split(', ').map((name) => name.replaceAll('`', ''))
    const rows = all
      .filter((reason) => kinds.includes(reasonTable[reason].kinds[0] ?? ''))
      .map((reason) => `| \`${reason}\` | ${reasonText(reason)} | ${reasonTable[reason].remedy} |\n`)
    return `${named}\n\n${head}${rows.join('')}`
  })

// `vitest run test/failures --update` writes the page.
test('docs/reasons.md lists every reason with its words and what to do, as the table has them', async () => {
  const page = readFileSync(`${root}docs/reasons.md`, 'utf8')

  const written = withTables(page)

  expect([...written.matchAll(/^\| `([^`]+)` \|/gm)].map(([, reason]) => reason)).toEqual(all)
  await expect(written).toMatchFileSnapshot(`${root}docs/reasons.md`)
})

test('each is a short word that a metric can carry, and words without a full stop', () => {
  for (const reason of all) {
    expect(reason).toMatch(/^[a-z]+(-[a-z]+)*$/)
    expect(reason.length).toBeLessThanOrEqual(32)
    expect(reasonText(reason)).toMatch(/^[^\n|`]{10,120}[^.]$/)
    expect(reasonTable[reason].remedy).toMatch(/^[^\n|]{4,120}[^.]$/)
  }
})

test('each is used somewhere in src', () => {
  const sources = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && name !== 'failures/reasons.ts')
    .map((name) => readFileSync(`${root}src/${name}`, 'utf8'))
    .join('\n')

  expect(all.filter((reason) => !sources.includes(`'${reason}'`))).toEqual([])
  expect(all.length).toBeGreaterThan(80)
})

test('each key that the words name is one of the configuration', () => {
  const page = readFileSync(`${root}docs/configuration.md`, 'utf8')
  const words = all.map((reason) => `${reasonText(reason)} ${reasonTable[reason].remedy}`)
  const keys = words.flatMap((text) => text.match(/\b(?:listen|limits|auth|tls)(?:\.[a-z][A-Za-z]*)+\b/g) ?? [])

  const unknown = keys.filter((key) => !new RegExp(`\`(?:[\\w.]+\\.)?${key.split('.').at(-1)}\``).test(page))

  expect(keys).toContain('listen.maxHeaderFields')
  expect(keys).toContain('tls.serverName')
  expect(unknown).toEqual([])
})

test('docs/operations.md says of each kind what to do as the table does', () => {
  const page = readFileSync(`${root}docs/operations.md`, 'utf8')
  const rows = [...page.matchAll(/^\| ((?:`[a-z-]+`(?:, )?)+) \| \d{3} \| .* \| ([^|]+) \|$/gm)]
  const documented = rows.flatMap(([, codes = '', remedy]) =>
    [...codes.matchAll(/`([a-z-]+)`/g)].map(([, kind]) => [kind, remedy]),
  )

  const known = allFailureKinds
    .filter((kind) => kind !== 'client-gone') // in the log only
    .map((kind) => [kind, failureTable[kind].remedy])
  expect(documented.sort()).toEqual(known.sort())
})
