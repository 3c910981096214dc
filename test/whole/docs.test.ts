/**
 * Checks the documentation where that is cheap: tables against the code that they describe, links, and printed output.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { commandGroups } from '../../src/core/admin/commands/command-groups.ts'
import { formatProblems } from '../../src/core/config/problem.ts'
import { jsonSchema, schemaKeys } from '../../src/core/config/schema/schema-keys.ts'
import { type FailureKind, failureTable } from '../../src/core/exchange/failures/failure-table.ts'
import { layerPlaces } from '../../src/core/runtime/pipeline/layer-stack.ts'
import { allOperations, groups } from '../../src/operations.ts'
import { findProblems } from '../core/config/helper.ts'
import { anchorsOf, rows, section, withoutCode } from '../helpers/markdown.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
const beside = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md']
const pages = [...beside, ...docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]

/** Lists the texts in backticks. */
const code = (cell = ''): string[] => [...cell.matchAll(/`([^`]*)`/g)].map(([, text = '']) => text)

describe('every relative link', () => {
  const links = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)#]+)[^)]*\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .map((target) => ({ page, target })),
  )

  test('leads somewhere', () => {
    expect(links.filter(({ page, target }) => !existsSync(join(root, dirname(page), target)))).toEqual([])
    expect(links.length).toBeGreaterThan(8)
  })

  test('leads to a heading that is there, as GitHub writes its anchor', () => {
    const anchors = pages.flatMap((page) =>
      [...withoutCode(read(page)).matchAll(/\]\(([^)#\s]*)#([^)\s]+)[^)]*\)/g)]
        .map(([, target = '', anchor = '']) => ({ page, target, anchor }))
        .filter(({ target }) => target === '' || /^[\w./-]+\.md$/.test(target)),
    )
    const leadsNowhere = anchors.filter(({ page, target, anchor }) => {
      const file = target === '' ? page : join(dirname(page), target)
      return !existsSync(join(root, file)) || !anchorsOf(read(file)).has(anchor)
    })

    expect(leadsNowhere).toEqual([])
    expect(anchors.length).toBeGreaterThan(200)
  })

  test('of two headings with the same words the second has a number', () => {
    expect([...anchorsOf('# A `b_c`\n## [D](e.md), f-g\n## A b_c\n```sh\n# no heading\n```\n')]).toEqual([
      'a-b_c',
      'd-f-g',
      'a-b_c-1',
    ])
  })
})

test('every page is linked from the README', () => {
  const readme = read('README.md')

  expect(pages.filter((page) => /^docs\/[^/]+$/.test(page) && !readme.includes(`(${page})`))).toEqual([])
})

test('the index of decisions names each number once, with the title of its page or the decision that took it up', () => {
  const folder = 'docs/design/decisions'
  const lines = read(`${folder}/README.md`)
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => line.replace('- ', ''))
    .sort((one, other) => Number(one.match(/\d+/)) - Number(other.match(/\d+/)))
  const files = readdirSync(join(root, folder)).filter((name) => name !== 'README.md')
  const ofPages = files.map((name) => {
    const [, title] = read(`${folder}/${name}`).match(/^# \d{3}: (.+)\n/) ?? []
    return `[${name.slice(0, 3)}](${name}): ${title}`
  })

  expect(lines.filter((line) => !/^\d{3}: see \[\d{3}\]/.test(line))).toEqual(ofPages.sort())
  expect(lines.map((line) => Number(line.match(/\d{3}/)))).toEqual(lines.map((_, i) => i + 1))
})

test('docs/design/source.md names every folder of the source, and what the subfolders of core are for', () => {
  const listed = new Map(rows(read('docs/design/source.md')).map(([folder = '', text = '']) => [folder, text]))
  const lettersOf = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  const folders = ['core', 'features'].flatMap((room) => foldersIn(`src/${room}`).map((name) => `src/${room}/${name}`))

  for (const folder of folders) {
    const text = listed.get(`[${folder}/](../../${folder}/)`)
    expect(text, folder).toBeDefined()
    if (folder.startsWith('src/features/')) continue
    const unnamed = foldersIn(folder).filter((name) => !lettersOf(text ?? '').includes(lettersOf(name)))
    expect(unnamed, folder).toEqual([])
  }
})

const foldersIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)

test.each(['README.md', 'docs/for-lenders.md'])('%s lists the nine', (page) => {
  const listed = rows(section(read(page), 'The nine')).slice(1)

  expect(listed.map((cells) => cells.slice(0, 4))).toEqual(
    allOperations.map(({ id, method, path, group }) => [`\`${id}\``, method, `\`${path}\``, group]),
  )
})

test('docs/for-lenders.md lists every kind of failure that a client gets, with its status, and no other', () => {
  const listed = rows(section(read('docs/for-lenders.md'), 'Errors'))
    .slice(1)
    .flatMap(([codes, status]) => code(codes).map((kind) => [kind, Number(status)]))

  const kinds = (Object.keys(failureTable) as FailureKind[]).filter((kind) => kind !== 'client-gone') // in the log only
  expect(listed.sort()).toEqual(kinds.map((kind) => [kind, failureTable[kind].status]).sort())
})

test('docs/for-lenders.md can be handed out by itself: it links to no other page and names no key of the file', () => {
  const page = read('docs/for-lenders.md')
  const keys = schemaKeys.filter(({ path }) => path.length > 1).map(({ path }) => path.join('.'))

  expect(page.match(/\]\((?!#)[^)]*\)/g)).toBeNull()
  expect(code(page).filter((text) => keys.includes(text))).toEqual([])
  expect(page.split(/\s+/).length).toBeLessThan(2500)
})

test('docs/operations.md lists every line that the log can have, at its level', () => {
  const levels: Readonly<Record<string, string>> = { info: '30', warn: '40', error: '50', fatal: '60' }
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const written = files.flatMap((name) => {
    const text = read(`src/${name}`)
    const changes = [...text.matchAll(/\bcalmChanges\(logEvent, '([^']+)', '([^']+)'/g)]
    return [
      ...text.matchAll(/\blog\.(info|warn|error|fatal)\([^\n]*, '([^']+)'\)/g),
      ...text.matchAll(/\blogEvent\('(info|warn)', '([^']+)'/g),
      ...changes.map(([call, available]) => [call, 'info', available]),
      ...changes.map(([call, , unavailable]) => [call, 'warn', unavailable]),
    ]
      .filter(([, , msg]) => msg !== 'exchange')
      .map(([, level = '', msg]) => `${msg} ${levels[level]}`)
  })

  // Those of operators' commands stand in their entries.
  const events = commandGroups.flatMap(({ commands }) => commands.flatMap(({ event }) => event ?? []))
  written.push(...[...new Set(events)].map((event) => `${event} 30`))

  const listed = rows(section(read('docs/operations.md'), 'The other lines of the log'))
    .slice(1)
    .map(([msg, level]) => `${code(msg)[0]} ${level}`)
    .filter((line) => !line.startsWith('to reroute')) // it names the file

  expect(listed.sort()).toEqual(written.sort())
})

describe('docs/configuration.md', () => {
  const page = read('docs/configuration.md')

  interface Schema {
    readonly items?: Schema
    readonly properties?: Readonly<Record<string, Schema>>
    readonly default?: unknown
    readonly anyOf?: readonly Schema[]
    readonly allOf?: readonly Schema[]
    readonly $ref?: string
  }
  const schema = jsonSchema() as Schema & { readonly definitions?: Readonly<Record<string, Schema>> }

  /** Lists the keys of a part of the schema, by their path in it, with the default as it is written. */
  const keysOf = (part: Schema | undefined, path = ''): [key: string, written: string | undefined][] => {
    if (part?.$ref !== undefined) return keysOf(schema.definitions?.[part.$ref.split('/').at(-1) ?? ''], path)
    const branches = [...(part?.anyOf ?? []), ...(part?.allOf ?? [])].flatMap((branch) => keysOf(branch, path))
    if (branches.some(([key]) => key !== path)) {
      const below = branches.filter(([key]) => key !== path)
      // A switch that may be a map, too, has a row of its own.
      return part?.default === false && path === 'http2' ? [[path, 'false'], ...below] : below
    }
    if (part?.properties === undefined) return [[path, part?.default === undefined ? undefined : written(part.default)]]
    return Object.entries(part.properties).flatMap(([key, value]) =>
      keysOf(value, path === '' ? key : `${path}.${key}`),
    )
  }
  const written = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.join(', ')}]` // as YAML has it
    return value === '' || typeof value === 'object' ? JSON.stringify(value) : String(value)
  }

  /** Lists the keys in the table of a section, with the default that stands beside them. */
  const listed = (heading: string): Map<string, string | undefined> =>
    new Map(
      rows(section(page, heading))
        .slice(1)
        .flatMap(([keys, value]) => code(keys).map((key) => [key, code(value)[0]] as const)),
    )

  const top = schema.properties ?? {}
  const at = (key: string): Schema => ({ properties: { [key]: top[key] ?? {} } })

  test.each([
    ['Every key', ['version', 'allowSandbox', 'workers', 'requestId'].flatMap((key) => keysOf(at(key)))],
    ['clients: ', keysOf(top.clients?.anyOf?.[1]?.items)],
    ['log, reload, shutdown', ['log', 'reload', 'shutdown'].flatMap((key) => keysOf(at(key)))],
    ...['instance', 'listen', 'limits', 'auth', 'admin', 'audit', 'cache', 'tracing', 'defaults'].map(
      (key): [string, ReturnType<typeof keysOf>] => [`${key}: `, keysOf(top[key])],
    ),
  ])('lists the keys of "%s", no other, and the default of each', (heading, keys) => {
    const documented = listed(heading)

    expect([...documented.keys()].sort()).toEqual(keys.map(([key]) => key).sort())
    for (const [key, value] of keys) expect([key, documented.get(key)]).toEqual([key, value])
  })

  test('lists the keys of a group and of an operation', () => {
    const inherited = keysOf(top.defaults).map(([key]) => key)
    const ofGroup = keysOf(top.upstreams?.properties?.risk).map(([key]) =>
      key.replace(/^candidate\..*/, 'candidate').replace(/\.(set|remove)\..*/, '.$1'),
    )
    const ofOperation = ['market.insights', 'valuation.score'].flatMap((id) =>
      keysOf(top.operations?.properties?.[id]).map(([key]) => key.replace(/^idempotency\..*/, 'idempotency')),
    )

    expect([...listed('upstreams: ').keys()].sort()).toEqual(
      [...new Set(ofGroup.filter((key) => !inherited.includes(key))), 'defaults'].sort(),
    )
    expect([...listed('operations: ').keys()].sort()).toEqual([...new Set(ofOperation)].sort())
    for (const group of groups) expect(section(page, 'upstreams: ')).toContain(`\`${group}\``)
  })

  test('lists the keys of a candidate that no group has', () => {
    const keys = keysOf(top.upstreams?.properties?.risk).map(([key]) => key)
    const ofCandidate = keys.flatMap((key) => (key.startsWith('candidate.') ? key.slice('candidate.'.length) : []))

    expect([...listed('candidate: ').keys()].sort()).toEqual(
      ['endpoints', ...ofCandidate.filter((key) => !keys.includes(key))].sort(),
    )
  })

  test('shows problems as they print', () => {
    const others = ['financing', 'analysis', 'risc', 'risk', 'inventory', 'leads', 'compliance', 'market']
    const file = [
      ...['listen:', '  port: "8080"', '  timeouts:', '    headers: 10', 'upstreams:', '  valuation: sandbox'],
      ...[...others.map((group) => `  ${group}: sandbox`), ''],
    ].join('\n')
    const [, shown] = section(page, 'Problems as they print').split('```')

    expect(shown?.trim()).toBe(formatProblems(findProblems(file, {}, 'config/gateway.yaml')).trim())
  })
})

test('docs/reload.md lists every key that cannot change live, and no other', () => {
  const [, listed] = /cannot change live is rejected\*\*(.*?)The hint/s.exec(read('docs/reload.md')) ?? []

  const restartOnly = schemaKeys.flatMap(({ path, restart }) => (restart ? [path.join('.')] : []))

  expect(code(listed).sort()).toEqual(restartOnly.sort())
})

test('the life of a request names every layer, in the order of the stack', () => {
  const [, , cell = ''] = rows(read('docs/design/life-of-a-request.md')).find(([step]) => step === '7') ?? []
  const named = [...cell.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name)

  expect(named).toEqual(layerPlaces)
})

test('the glossary has each term once, in alphabetical order, with a counterpart elsewhere or a dash', () => {
  const terms = rows(read('docs/glossary.md')).filter(([term]) => term !== 'term')

  const names = terms.map(([term = '']) => term.replaceAll('`', ''))

  expect(terms.filter((cells) => cells.length !== 3 || cells.includes(''))).toEqual([])
  expect(names).toEqual([...new Set(names)].sort((one, other) => one.localeCompare(other)))
  expect(names.length).toBeGreaterThan(50)
})

test('the changelog has what is unreleased first, and a section for the version of package.json, with its date', () => {
  const { version } = JSON.parse(read('package.json'))
  const [unreleased, ...released] = [...read('CHANGELOG.md').matchAll(/^## (.*)$/gm)].map(([, title]) => title)

  expect(unreleased).toBe('Unreleased')
  expect(released[0]).toMatch(new RegExp(`^${version.replaceAll('.', '\\.')} - \\d{4}-\\d\\d-\\d\\d$`))
})

test('every source file and folder that a page names is there, be it by the end of its path', () => {
  const named = pages.flatMap((page) =>
    [...new Set(code(read(page)))]
      .filter((text) => /^(src|test|tools|scripts|docs|config)\/[\w./-]+$|^[\w./-]+\.ts$/.test(text))
      .map((text) => ({ page, path: text.replace(/\/$/, '') })),
  )
  const paths = ['src', 'test', 'tools', 'scripts', 'docs', 'config'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `/${folder}/${name}`),
  )

  expect(named.filter(({ path }) => !paths.some((each) => each.endsWith(`/${path}`)))).toEqual([])
  expect(named.filter(({ page }) => page === 'CONTRIBUTING.md').length).toBeGreaterThan(40)
})
