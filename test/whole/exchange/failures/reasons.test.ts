import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { reasonsFor, reasonTable, reasonText } from '../../../../src/core/exchange/failures/errors.ts'
import { allFailureKinds } from '../../../../src/core/exchange/failures/failure-table.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const all = reasonsFor(...allFailureKinds)

const page = readFileSync(`${root}docs/reasons.md`, 'utf8')

/** What to do, by reason: only the page has it. */
const remedies = new Map(
  [...page.matchAll(/^\| `([^`]+)` \| .* \| (.*) \|$/gm)].map(([, reason = '', remedy = '']) => [reason, remedy]),
)

/**
 * Renders the tables of a page: each stands below a line that names its kinds, and has the reasons whose first kind is
 * among them.
 */
const withTables = (page: string): string =>
  page.replace(/^(`[a-z`, -]+`)\n\n(\|.*\n\|.*\n)(?:\|.*\n)*/gm, (_, named: string, head: string) => {
    const kinds = named.split(', ').map((name) => name.replaceAll('`', ''))
    const rows = all
      .filter((reason) => kinds.includes(reasonTable[reason].kinds[0] ?? ''))
      .map((reason) => `| \`${reason}\` | ${reasonText(reason)} | ${remedies.get(reason) ?? '?'} |\n`)
    return `${named}\n\n${head}${rows.join('')}`
  })

// `vitest run test/failures --update` writes the page.
test('docs/reasons.md lists every reason with its words, as the table has them', async () => {
  const written = withTables(page)

  expect([...written.matchAll(/^\| `([^`]+)` \|/gm)].map(([, reason]) => reason)).toEqual(all)
  await expect(written).toMatchFileSnapshot(`${root}docs/reasons.md`)
})

test('each is a short word that a metric can carry, and words without a full stop; the page says what to do', () => {
  for (const reason of all) {
    expect(reason).toMatch(/^[a-z]+(-[a-z]+)*$/)
    expect(reason.length).toBeLessThanOrEqual(32)
    expect(reasonText(reason)).toMatch(/^[^\n|`]{10,120}[^.]$/)
    expect(remedies.get(reason)).toMatch(/^[^\n|]{4,120}[^.]$/)
  }
})

test('each is used somewhere in src', () => {
  const sources = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('/reason-rows.ts'))
    .map((name) => readFileSync(`${root}src/${name}`, 'utf8'))
    .join('\n')

  expect(all.filter((reason) => !new RegExp(`'${reason}'|\\b${reason}:`).test(sources))).toEqual([])
  expect(all.length).toBeGreaterThan(80)
})

test('each key that the words name is one of the configuration', () => {
  const configuration = readFileSync(`${root}docs/configuration.md`, 'utf8')
  const words = all.map((reason) => `${reasonText(reason)} ${remedies.get(reason)}`)
  const keys = words.flatMap((text) => text.match(/\b(?:listen|limits|auth|tls)(?:\.[a-z][A-Za-z]*)+\b/g) ?? [])

  const unknown = keys.filter((key) => !new RegExp(`\`(?:[\\w.]+\\.)?${key.split('.').at(-1)}\``).test(configuration))

  expect(keys).toContain('listen.maxHeaderFields')
  expect(keys).toContain('tls.serverName')
  expect(unknown).toEqual([])
})

test('docs/for-lenders.md says of each kind what to do', () => {
  const forLenders = readFileSync(`${root}docs/for-lenders.md`, 'utf8')
  const rows = [...forLenders.matchAll(/^\| ((?:`[a-z-]+`(?:, )?)+) \| \d{3} \| .* \| ([^|]+) \|$/gm)]
  const documented = rows.flatMap(([, codes = '']) => [...codes.matchAll(/`([a-z-]+)`/g)].map(([, kind]) => kind))

  const responded = allFailureKinds.filter((kind) => kind !== 'client-gone') // in the log only
  expect(documented.sort()).toEqual(responded.sort())
  for (const [, , remedy] of rows) expect(remedy).toMatch(/^[^\n|]{4,120}[^.]$/)
})
