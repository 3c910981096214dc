// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import type { LoadResult } from '../../../../src/core/config/load/load.ts'
import { loadConfig } from '../../../../src/core/config/load/load-config.ts'
import type { KeyPath } from '../../../../src/core/config/problem.ts'
import { parseYamlSource } from '../../../../src/core/config/yaml/yaml-document.ts'
import { Reloader } from '../../../../src/core/runtime/reload/reloader.ts'
import { readClientFile } from '../../../../src/features/auth/clients/client-list.ts'
import { folderWith, parse, sandbox } from '../../../core/config/helper.ts'

const sha = 'ab'.repeat(32)
const client = (id: string, key = `${id}-1`) => ({ id, apiKeys: [{ id: key, sha256: sha }], operations: 'all' })
const auth = 'auth: { methods: [apiKey] }'

/** Loads a configuration beside files of clients. */
const load = (clients: string, files: Readonly<Record<string, string>>, environment = {}) => {
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
  return problems.map(({ file, line, column, path, message }) => ({
    where: `${file.replace(`${folder}/`, '')}:${line}:${column}`,
    path,
    message,
  }))
}

describe('clients in a file of their own', () => {
  test.each([
    ['YAML', '- id: bank-a\n  operations: all\n  apiKeys:\n  - { id: bank-a-1, sha256: "${SHA}" }\n'],
    ['JSON', JSON.stringify([client('bank-a')])],
    ['JSON with placeholders', JSON.stringify([client('bank-a')]).replace(sha, '${SHA}')],
  ])('are the same in %s as in the configuration', (_, text) => {
    const own = loadValid(JSON.stringify([client('bank-a')]), {})
    const included = loadValid('file:clients.yaml', { 'clients.yaml': text }, { SHA: sha })

    expect(included.config.clients).toEqual(own.config.clients)
    expect(included.config.hash).toBe(own.config.hash)
  })

  test('are waited for where they are not there', () => {
    const { folder, loaded } = load('file:clients.yaml', {})

    expect(loaded.sources[1]).toEqual({ file: join(folder, 'clients.yaml'), digest: null, limit: 32 * 1024 ** 2 })
  })

  test('are read again when they change, and change the hash', () => {
    const { folder, loaded } = load('file:clients.yaml', { 'clients.yaml': JSON.stringify([client('bank-a')]) })
    writeFileSync(join(folder, 'clients.yaml'), JSON.stringify([client('bank-a'), client('bank-b')]))
    const again = loadConfig(join(folder, 'gateway.yaml'), {})

    expect(loaded.sources.map(({ file }) => file)).toEqual([join(folder, 'gateway.yaml'), join(folder, 'clients.yaml')])
    expect(again.sources[1]?.digest).not.toBe(loaded.sources[1]?.digest)
    expect(again.ok && loaded.ok && again.config.hash !== loaded.config.hash).toBe(true)
  })

  test('may stand in several files, and beside others', () => {
    const files = { 'a.yaml': JSON.stringify([client('a')]), 'b.yaml': JSON.stringify([client('b'), client('c')]) }
    const { config } = loadValid(`[file:a.yaml, ${JSON.stringify(client('own'))}, file:b.yaml]`, files)

    expect(config.clients.map(({ id }) => id)).toEqual(['a', 'own', 'b', 'c'])
    expect(reportConfig(config).config.clients).toEqual([
      'file:a.yaml',
      expect.objectContaining({ id: 'own' }),
      'file:b.yaml',
    ])
  })

  test('are not repeated in the report, and yet it shows that they have changed', () => {
    const reported = (id: string) =>
      reportConfig(loadValid('file:c.yaml', { 'c.yaml': JSON.stringify([client(id)]) }).config)

    expect(reported('a').config.clients).toBe('file:c.yaml')
    expect(JSON.stringify(reported('a'))).not.toContain(sha)
    expect(reported('a').digests.clients).not.toBe(reported('b').digests.clients)
  })
})

describe('a mistake is reported where it stands', () => {
  const wrong = [
    ['YAML', '- id: a\n  operations: all\n- id: b\n  operation: all\n', 'c:4:3', 'c:3:3'],
    ['JSON', '[{"id": "a", "operations": "all"},\n {"id": "b", "operation": "all"}]', 'c:2:14', 'c:2:2'],
  ] as const
  test.each(wrong)('in %s: a key that is unknown, and one that is missing', (_, text, unknown, missing) => {
    const found = loadProblems('file:c', { c: text })

    expect(found).toContainEqual({
      where: unknown,
      path: '[1].operation',
      message: expect.stringContaining('unknown key'),
    })
    expect(found).toContainEqual({ where: missing, path: '[1].operations', message: 'missing' })
    expect(found).toHaveLength(2)
  })

  test('a name that stands in two files, and one after an included file', () => {
    const found = loadProblems(`\n- file:c\n- { id: x, operations: all }\n- { id: a, operations: none }`, {
      c: JSON.stringify([client('a')], null, 2),
    })

    expect(found).toContainEqual({
      where: 'gateway.yaml:6:9',
      path: 'clients[2].id',
      message: 'a client of this name stands here already',
    })
    expect(found).toContainEqual(expect.objectContaining({ where: 'gateway.yaml:6:24', path: 'clients[2].operations' }))
  })

  test('a file that is not there, between clients of which a later one is broken', () => {
    const found = loadProblems('\n- { id: a, operations: all }\n- file:none\n- { id: "b b", operations: all }', {})

    expect(found).toEqual([
      expect.objectContaining({ where: 'gateway.yaml:5:3', path: 'clients[1]' }),
      { where: 'gateway.yaml:6:9', path: 'clients[2].id', message: 'not a name' },
    ])
  })

  test.each([
    ['that is not there', 'file:none', 'gateway.yaml:3:10', 'clients', 'the file cannot be used: no such file'],
    ['that is no list', 'file:map', 'map:1:1', '', 'no list'],
    ['with a slip', 'file:slip', 'slip:1:7', '[0].id', 'a placeholder that is not understood'],
    ['with one key twice', 'file:twice', 'twice:1:31', '[0].operations', 'a key that stands here already'],
    ['that is not text', 'file:bytes', 'bytes:1:1', '', 'the file is not UTF-8'],
  ])('a file %s', (_, clients, where, path, message) => {
    const files = {
      map: 'a: b',
      slip: '[{id: "${a b}", operations: all}]',
      twice: '[{"id":"a","operations":"all","operations":["market.insights"]}]',
    }
    const folder = folderWith({
      'gateway.yaml': `${sandbox}\n${auth}\nclients: ${clients}\n`,
      ...files,
      bytes: Uint8Array.of(0xff, 0xfe),
    })
    const loaded = loadConfig(join(folder, 'gateway.yaml'), {})
    const found = loaded.ok ? [] : loaded.problems

    expect(found.map((each) => `${each.file.replace(`${folder}/`, '')}:${each.line}:${each.column}`)).toContain(where)
    expect(found).toContainEqual(expect.objectContaining({ path, message }))
  })

  test('a key in place of its digest is not quoted', () => {
    const secret = 'planted-secret-of-bank-a'
    const [problem] = (() => {
      const { loaded } = load('file:c', { c: JSON.stringify([client('a')]).replace(sha, secret) })
      return loaded.ok ? [] : loaded.problems
    })()

    expect(problem).toMatchObject({ path: '[0].apiKeys[0].sha256', message: 'not a SHA-256' })
    expect(JSON.stringify(problem)).not.toContain(secret)
  })
})

test('a position in JSON is the one that the YAML parser finds in the whole file', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('[', '}', ',', '"', '\\', '\n', 'a: b', ''))
  const entry = fc.record({
    id: text,
    apiKeys: fc.array(fc.record({ id: text, sha256: fc.option(text) }), { maxLength: 2 }),
    claims: fc.dictionary(
      text.filter((name) => name !== '__proto__'),
      text,
      { maxKeys: 2 },
    ),
    rate: fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
  })
  const pathsIn = (value: unknown): readonly KeyPath[] =>
    typeof value !== 'object' || value === null
      ? [[]]
      : [
          [],
          ...Object.entries(value).flatMap(([key, each]) => {
            const step = Array.isArray(value) ? Number(key) : key
            return pathsIn(each).map((below) => [step, ...below])
          }),
        ]
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 4 }), fc.constantFrom(0, 1, '\t'), (list, indent) => {
      const written = JSON.stringify(list, null, indent)
      const folder = folderWith({ clients: written })
      const read = readClientFile(folder, 'clients', {})
      if ('reason' in read) throw new Error(read.reason)
      const parsed = parseYamlSource(written)

      for (const path of pathsIn(list).filter(({ length }) => length > 0)) {
        expect([path, read.locate(path)]).toEqual([path, parsed.locate(path)])
        expect([path, read.locate(path, true)]).toEqual([path, parsed.locate(path, true)])
      }
    }),
    { numRuns: 15 },
  )
})

test('a mistake in a file too large for the YAML parser is reported where it stands', () => {
  const blanks = ' '.repeat(4 * 1024 ** 2)
  const list = JSON.stringify([client('a'), client('b')], null, 1)
  const text = list.replace('"id": "b",', `${blanks}\n"id": "b", "rate": "often",`)
  const line = text.slice(0, text.indexOf('"rate"')).split('\n').length

  const found = loadProblems('file:c', { c: text })

  expect(text.length).toBeGreaterThan(4 * 1024 ** 2)
  expect(found).toMatchObject([{ where: `c:${line}:20`, path: '[1].rate' }])
})

test('clients that move to a file of their own are shown there, and no later edit is said to move them', async () => {
  const client = { id: 'bank-a', operations: 'all' }
  const file = join(folderWith({ 'clients.json': JSON.stringify([client]) }), 'gateway.yaml')
  const withClients = (clients: unknown, more = ''): LoadResult =>
    parse(`auth: { methods: [apiKey] }\nclients: ${JSON.stringify(clients)}\n${more}${sandbox}`, {}, file)
  const reads = [withClients('file:clients.json'), withClients('file:clients.json', 'log: { level: warn }\n')]
  const initial = withClients([client])
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
