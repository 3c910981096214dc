// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { catalog } from '../../src/catalog.ts'
import { loadConfig } from '../../src/config/load.ts'
import { report } from '../../src/config/report.ts'
import { clientSchema } from '../../src/config/schema/clients.ts'
import { quick } from '../../src/config/schema/quick.ts'
import { folderWith, sandbox } from './helper.ts'

const sha = 'ab'.repeat(32)
const client = (id: string, key = `${id}-1`) => ({ id, apiKeys: [{ id: key, sha256: sha }], operations: 'all' })
const auth = 'auth: { methods: [apiKey] }'

/** Loads a configuration beside files of clients. */
const load = (clients: string, files: Readonly<Record<string, string>>, environment = {}) => {
  const folder = folderWith({ 'gateway.yaml': `${sandbox}\n${auth}\nclients: ${clients}\n`, ...files })
  return { folder, loaded: loadConfig(join(folder, 'gateway.yaml'), environment) }
}

const good = (...args: Parameters<typeof load>) => {
  const { loaded } = load(...args)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

const refused = (...args: Parameters<typeof load>) => {
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
    const own = good(JSON.stringify([client('bank-a')]), {})
    const included = good('file:clients.yaml', { 'clients.yaml': text }, { SHA: sha })

    expect(included.config.clients).toEqual(own.config.clients)
    expect(included.config.hash).toBe(own.config.hash)
  })

  test('are read again when they change, and change the hash', () => {
    const { folder, loaded } = load('file:clients.yaml', { 'clients.yaml': JSON.stringify([client('bank-a')]) })
    writeFileSync(join(folder, 'clients.yaml'), JSON.stringify([client('bank-a'), client('bank-b')]))
    const again = loadConfig(join(folder, 'gateway.yaml'), {})

    expect(loaded.sources.map(({ file }) => file)).toEqual([join(folder, 'gateway.yaml'), join(folder, 'clients.yaml')])
    expect(again.sources[1]?.digest).not.toBe(loaded.sources[1]?.digest)
    expect(again.ok && loaded.ok && again.config.hash !== loaded.config.hash).toBe(true)
  })

  test('may stand in several, and beside others', () => {
    const files = { 'a.yaml': JSON.stringify([client('a')]), 'b.yaml': JSON.stringify([client('b'), client('c')]) }
    const { config } = good(`[file:a.yaml, ${JSON.stringify(client('own'))}, file:b.yaml]`, files)

    expect(config.clients.map(({ id }) => id)).toEqual(['a', 'own', 'b', 'c'])
    expect(report(config).config.clients).toEqual([
      'file:a.yaml',
      expect.objectContaining({ id: 'own' }),
      'file:b.yaml',
    ])
  })

  test('are not repeated where the configuration is shown, and yet it is told that they have changed', () => {
    const reported = (id: string) => report(good('file:c.yaml', { 'c.yaml': JSON.stringify([client(id)]) }).config)

    expect(reported('a').config.clients).toBe('file:c.yaml')
    expect(JSON.stringify(reported('a'))).not.toContain(sha)
    expect(reported('a').digests.clients).not.toBe(reported('b').digests.clients)
  })
})

describe('what is wrong is told where it stands', () => {
  const wrong = [
    ['YAML', '- id: a\n  operations: all\n- id: b\n  operation: all\n', 'c:4:3', 'c:3:3'],
    ['JSON', '[{"id": "a", "operations": "all"},\n {"id": "b", "operation": "all"}]', 'c:2:14', 'c:2:2'],
  ] as const
  test.each(wrong)('in %s: a key that is unknown, and one that is missing', (_, text, unknown, missing) => {
    const found = refused('file:c', { c: text })

    expect(found).toContainEqual({
      where: unknown,
      path: '[1].operation',
      message: expect.stringContaining('unknown key'),
    })
    expect(found).toContainEqual({ where: missing, path: '[1].operations', message: 'missing' })
    expect(found).toHaveLength(2)
  })

  test('a name that stands in two files, and one after an included file', () => {
    const found = refused(`\n- file:c\n- { id: x, operations: all }\n- { id: a, operations: none }`, {
      c: JSON.stringify([client('a')], null, 2),
    })

    expect(found).toContainEqual({
      where: 'gateway.yaml:6:9',
      path: 'clients[2].id',
      message: 'a client of this name stands here already',
    })
    expect(found).toContainEqual(expect.objectContaining({ where: 'gateway.yaml:6:24', path: 'clients[2].operations' }))
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

  test('a key in place of its digest is not repeated', () => {
    const secret = 'planted-secret-of-bank-a'
    const [problem] = (() => {
      const { loaded } = load('file:c', { c: JSON.stringify([client('a')]).replace(sha, secret) })
      return loaded.ok ? [] : loaded.problems
    })()

    expect(problem).toMatchObject({ path: '[0].apiKeys[0].sha256', message: 'not a SHA-256' })
    expect(JSON.stringify(problem)).not.toContain(secret)
  })
})

test('the quick way to read a client says what zod says, or leaves it to zod', () => {
  const read = quick(clientSchema)
  const odd = fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.boolean(), fc.array(fc.string()), fc.object())
  const some = <T>(value: fc.Arbitrary<T>) => fc.oneof({ weight: 20, arbitrary: value }, { weight: 1, arbitrary: odd })
  const clients = fc.record(
    {
      id: some(fc.stringMatching(/^[\w.-]{1,64}$/)),
      disabled: some(fc.boolean()),
      apiKeys: some(
        fc.array(fc.record({ id: some(fc.constant('k')), sha256: some(fc.constant(sha)) }, { noNullPrototype: true }), {
          maxLength: 9,
        }),
      ),
      claims: some(
        fc.dictionary(fc.constantFrom('iss', 'client_id', '__proto__', 'a b'), some(fc.constantFrom('x', '', ' y')), {
          noNullPrototype: true,
          maxKeys: 2,
        }),
      ),
      operations: some(
        fc.oneof(
          fc.constant('all'),
          fc.array(fc.constantFrom(...catalog.map(({ id }) => id)), { minLength: 1, maxLength: 3 }),
        ),
      ),
      addresses: some(fc.array(some(fc.constantFrom('192.0.2.0/24', '2001:db8::1')), { maxLength: 3 })),
    },
    { requiredKeys: ['id', 'operations'], noNullPrototype: true },
  )
  let agreed = 0
  fc.assert(
    fc.property(clients, (value) => {
      const got = read(value)
      if (typeof got === 'symbol') return
      agreed++
      expect(got).toEqual(clientSchema.parse(value))
    }),
    { numRuns: 500 },
  )

  expect(agreed).toBeGreaterThan(50)
})
