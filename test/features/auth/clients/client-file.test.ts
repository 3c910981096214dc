// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import type { LoadResult } from '../../../../src/core/config/load/load.ts'
import { loadConfig } from '../../../../src/core/config/load/load-config.ts'
import { Reloader } from '../../../../src/core/runtime/reload/reloader.ts'
import { folderWith, parse, sandbox } from '../../../core/config/helper.ts'

const sha = 'ab'.repeat(32)
const client = (id: string) => ({ id, apiKeys: [{ id: `${id}-1`, sha256: sha }], operations: 'all' })
const listOf = (...ids: readonly string[]): string => JSON.stringify(ids.map(client))
const auth = 'auth: { methods: [apiKey] }'

/** Loads a configuration beside files of clients. */
const load = (clients: string, files: Readonly<Record<string, string | Uint8Array>> = {}, environment = {}) => {
  const folder = folderWith({ 'gateway.yaml': `${sandbox}\n${auth}\nclients: ${clients}\n`, ...files })
  return { folder, loaded: loadConfig(join(folder, 'gateway.yaml'), environment) }
}

const loadValid = (...args: Parameters<typeof load>) => {
  const { loaded } = load(...args)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

const loadProblems = (...args: Parameters<typeof load>) => {
  const { folder, loaded } = load(...args)
  const problems = loaded.ok ? [] : loaded.problems
  return problems.map(({ file, line, column, path, message }) => [
    `${file.replace(`${folder}/`, '')}:${line}:${column}`,
    ...[path, message],
  ])
}

describe('clients in a file of their own', () => {
  test.each([
    ['YAML', '- id: bank-a\n  operations: all\n  apiKeys:\n  - { id: bank-a-1, sha256: "${SHA}" }\n'],
    ['JSON', listOf('bank-a')],
    ['JSON with placeholders', listOf('bank-a').replace(sha, '${SHA}')],
  ])('are the same in %s as in the configuration', (_, text) => {
    const own = loadValid(listOf('bank-a'))
    const included = loadValid('file:clients.yaml', { 'clients.yaml': text }, { SHA: sha })

    expect(included.config.clients).toEqual(own.config.clients)
    expect(included.config.hash).toBe(own.config.hash)
  })

  test('are waited for where they are not there', () => {
    const { folder, loaded } = load('file:clients.yaml')

    expect(loaded.sources[1]).toEqual({ file: join(folder, 'clients.yaml'), digest: null, limit: 32 * 1024 ** 2 })
  })

  test('are read again when they change, and change the hash', () => {
    const { folder, loaded } = load('file:clients.yaml', { 'clients.yaml': listOf('bank-a') })
    writeFileSync(join(folder, 'clients.yaml'), listOf('bank-a', 'bank-b'))
    const again = loadConfig(join(folder, 'gateway.yaml'), {})

    expect(loaded.sources.map(({ file }) => file)).toEqual([join(folder, 'gateway.yaml'), join(folder, 'clients.yaml')])
    expect(again.sources[1]?.digest).not.toBe(loaded.sources[1]?.digest)
    expect(again.ok && loaded.ok && again.config.hash !== loaded.config.hash).toBe(true)
  })

  test('may stand in several files, and beside others', () => {
    const files = { 'a.yaml': listOf('a'), 'b.yaml': listOf('b', 'c') }
    const { config } = loadValid(`[file:a.yaml, ${JSON.stringify(client('own'))}, file:b.yaml]`, files)

    expect(config.clients.map(({ id }) => id)).toEqual(['a', 'own', 'b', 'c'])
    const shown = ['file:a.yaml', expect.objectContaining({ id: 'own' }), 'file:b.yaml']
    expect(reportConfig(config).config.clients).toEqual(shown)
  })

  test('are not repeated in the report, and yet it shows that they have changed', () => {
    const [one, other] = ['a', 'b'].map((id) => reportConfig(loadValid('file:c', { c: listOf(id) }).config))

    expect(one?.config.clients).toBe('file:c')
    expect(JSON.stringify(one)).not.toContain(sha)
    expect(one?.digests.clients).not.toBe(other?.digests.clients)
  })
})

describe('a mistake is reported where it stands', () => {
  test.each([
    ['YAML', '- id: a\n  operations: all\n- id: b\n  operation: all\n', 'c:4:3', 'c:3:3'],
    ['JSON', '[{"id": "a", "operations": "all"},\n {"id": "b", "operation": "all"}]', 'c:2:14', 'c:2:2'],
  ])('in %s: a key that is unknown, and one that is missing', (_, c, unknown, missing) => {
    expect(loadProblems('file:c', { c }).toSorted()).toEqual(
      [
        [unknown, '[1].operation', expect.stringContaining('unknown key')],
        [missing, '[1].operations', 'missing'],
      ].toSorted(),
    )
  })

  const here = 'a second client with this id'
  const beside = '\n- file:c\n- { id: x, operations: all }\n- { id: a, operations: none }'
  const notThere = 'the file cannot be used: no such file'
  const around = '\n- { id: a, operations: all }\n- file:none\n- { id: "b b", operations: all }'
  const twice = '[{"id":"a","operations":"all","operations":["market.insights"]}]'
  // One that is too large for the YAML parser.
  const blanks = ' '.repeat(4 * 1024 ** 2)
  const large = JSON.stringify([client('a'), client('b')], null, 1).replace(
    '"id": "b",',
    `${blanks}\n"id": "b", "rate": "often",`,
  )
  const line = large.slice(0, large.indexOf('"rate"')).split('\n').length

  test.each<[string, string, string | Uint8Array, string, string, string]>([
    ['a name of an included file', beside, listOf('a'), 'gateway.yaml:6:9', 'clients[2].id', here],
    [
      'one after an included file',
      beside,
      listOf('a'),
      'gateway.yaml:6:24',
      'clients[2].operations',
      'not a list of operations',
    ],
    ['a file that is not there', 'file:none', '', 'gateway.yaml:3:10', 'clients', notThere],
    ['one between clients', around, '', 'gateway.yaml:5:3', 'clients[1]', notThere],
    ['a broken client behind one', around, '', 'gateway.yaml:6:9', 'clients[2].id', 'not a name'],
    ['a file that is no list', 'file:c', 'a: b', 'c:1:1', '', 'not a list'],
    ['a slip', 'file:c', '[{id: "${a b}", operations: all}]', 'c:1:7', '[0].id', 'an unknown placeholder'],
    ['one key twice', 'file:c', twice, 'c:1:31', '[0].operations', 'a duplicate key'],
    ['what is not text', 'file:c', Uint8Array.of(0xff, 0xfe), 'c:1:1', '', 'the file is not UTF-8'],
    ['a mistake in a large file', 'file:c', large, `c:${line}:20`, '[1].rate', 'not a rate'],
  ])('%s', (_, clients, c, where, path, message) => {
    expect(loadProblems(clients, { c })).toContainEqual([where, path, message])
  })

  test('a key in place of its digest is not quoted', () => {
    const secret = 'planted-secret-of-bank-a'
    const { loaded } = load('file:c', { c: listOf('a').replace(sha, secret) })
    const problems = loaded.ok ? [] : loaded.problems

    expect(problems).toMatchObject([{ path: '[0].apiKeys[0].sha256', message: 'not a SHA-256' }])
    expect(JSON.stringify(problems)).not.toContain(secret)
  })
})

test('clients that move to a file of their own are shown there, and no later edit is said to move them', async () => {
  const list = [{ id: 'bank-a', operations: 'all' }]
  const file = join(folderWith({ 'clients.json': JSON.stringify(list) }), 'gateway.yaml')
  const withClients = (clients: unknown, more = ''): LoadResult =>
    parse(`${auth}\nclients: ${JSON.stringify(clients)}\n${more}${sandbox}`, {}, file)
  const reads = [withClients('file:clients.json'), withClients('file:clients.json', 'log: { level: warn }\n')]
  const initial = withClients(list)
  if (!initial.ok) throw new Error(JSON.stringify(initial.problems))
  const reloader = new Reloader({
    file: 'gateway.yaml',
    initial,
    load: async () => reads.shift() as LoadResult,
    preflight: async () => [],
    apply: async () => {},
    onOutcome: () => {},
  })

  const moved = await reloader.reload('file')
  const shown = reloader.running.report.config
  const edited = await reloader.reload('file')

  expect(moved.result).toBe('unchanged')
  expect(shown).toMatchObject({ clients: 'file:clients.json' })
  expect(edited).toMatchObject({ result: 'applied', changes: [{ path: 'log.level' }] })
})
