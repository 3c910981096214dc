// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { changedGroups, diffReports } from '../../../../src/core/config/diff/diff-reports.ts'
import { renderEffectiveConfig, reportConfig } from '../../../../src/core/config/diff/report.ts'
import { allOperations, groups } from '../../../../src/operations.ts'
import { folderWith, sandbox, validConfig, withRisk } from '../../../core/config/helper.ts'
import { sampleContract } from '../../../helpers/contract.ts'

const diffTexts = (before: string, after: string) =>
  diffReports(reportConfig(validConfig(before)), reportConfig(validConfig(after)))

/** Sets fields of requests to the group risk. */
const setting = (fields: string): string => withRisk(` { endpoints: [http://r.internal], request: { set: ${fields} } }`)

describe('the report of a configuration', () => {
  const secret = 'hunter2-s3cret'

  test('shows whether clients may choose HTTP/2', () => {
    expect(renderEffectiveConfig(validConfig(sandbox))).toMatchObject({ listen: { http2: false } })
  })

  const endpoints = 'endpoints: [http://r.internal/p, { url: https://s.internal, weight: 7 }]'

  test.each([
    [{ maxBody: '1KiB', deadline: 'none' }, 'host: client, keepAlive: 0s, response: { remove: [Server] }'],
    [{ maxBody: '64MiB', deadline: '250ms' }, 'host: "risk.example:8443", keepAlive: 90m'],
    [{ maxBody: 'none', deadline: 'none' }, 'host: endpoint, keepAlive: none, response: { remove: [X-A, X-B] }'],
  ])('is a configuration with the same report: %j, %s', (defaults, risk) => {
    const others = 'requestId: { header: none }\nlisten: { basePath: /v1, via: edge }'
    const operations = 'operations: { market.insights: { state: reject } }'
    const written = [
      others,
      `defaults: ${JSON.stringify(defaults)}`,
      withRisk(` { ${endpoints}, ${risk} }`),
      operations,
    ]
    const config = validConfig(written.join('\n'))

    expect(validConfig(JSON.stringify(reportConfig(config).config)).hash).toBe(config.hash)
  })

  test('spells a literal placeholder as the file does', () => {
    const config = validConfig(setting('{ User-Agent: "a$${B}$$${C" }'))

    expect(config.upstreams.risk.request.set[0]?.value).toBe('a${B}$${C')
    expect(validConfig(JSON.stringify(reportConfig(config).config)).hash).toBe(config.hash)
  })

  test('holds a secret that no inspection prints', () => {
    const config = validConfig(`admin: { token: ${secret}-and-more }\n${sandbox}`)

    expect(inspect(renderEffectiveConfig(config), { depth: null, showHidden: true })).not.toContain(secret)
  })

  test('shows no secret, and yet shows that one has changed', () => {
    const key = (value: string) =>
      withRisk(`\n    endpoints: [http://r.internal]\n    request: { set: { X-Api-Key: "${value}" } }`)
    const token = (value: string) => `admin: { token: ${value} }\n${sandbox}`

    expect(JSON.stringify(reportConfig(validConfig(key(secret))))).not.toContain(secret)
    expect(JSON.stringify(reportConfig(validConfig(token(`${secret}-and-more`))))).not.toContain(secret)
    expect(diffTexts(key(secret), key('another'))).toEqual([
      { part: 'upstreams.risk', group: 'risk', path: 'upstreams.risk.request.set.X-Api-Key', from: '***', to: '***' },
    ])
    expect(diffTexts(token(`${secret}-and-more`), token(`${secret}-and-less`))).toEqual([
      { part: 'admin', group: null, path: 'admin.token', from: '***', to: '***' },
    ])
  })
})

describe('a difference', () => {
  test('is empty where only the spelling differs', () => {
    expect(diffTexts(sandbox, `# the same\nlisten: { port: 8080 }\n${sandbox}`)).toEqual([])
  })

  test('names the key, what it was and what it is', () => {
    const path = 'upstreams.risk.endpoints'
    expect(diffTexts(sandbox, withRisk(' http://r.internal'))).toEqual([
      { part: 'upstreams.risk', group: 'risk', path, from: ['sandbox'], to: ['http://r.internal'] },
    ])
    expect(diffTexts(sandbox, `listen: { basePath: /v1, via: gw }\n${sandbox}`)).toEqual([
      { part: 'listen', group: null, path: 'listen.basePath', from: '', to: '/v1' },
      { part: 'listen', group: null, path: 'listen.via', from: null, to: 'gw' },
    ])
  })

  test('of a secret stands beside the other changes', () => {
    const key = (url: string, value: string) =>
      withRisk(`\n    endpoints: [${url}]\n    request: { set: { X-Api-Key: "${value}", X-Auth: same } }`)

    expect(diffTexts(key('http://r.internal', 'old'), key('http://s.internal', 'new')).map(({ path }) => path)).toEqual(
      ['upstreams.risk.endpoints', 'upstreams.risk.request.set.X-Api-Key'],
    )
  })

  test('of a field has its own name, whatever every object inherits', () => {
    expect(diffTexts(setting('{ constructor: a }'), setting('{ Accept: b }'))).toMatchObject([
      { path: 'upstreams.risk.request.set.constructor', from: '***', to: null },
      { path: 'upstreams.risk.request.set.Accept', from: null, to: 'b' },
    ])
  })

  test('from a gateway of another version names the part that only one of the two has', () => {
    const { config, digests, hash } = reportConfig(validConfig(sandbox))
    const { reload, ...rest } = config
    const older = { hash, config: rest, digests }
    const newer = { hash, config, digests }

    expect(diffReports(older, newer)).toMatchObject([{ part: 'reload', path: 'reload', from: null, to: reload }])
    expect(diffReports(newer, older)).toMatchObject([{ part: 'reload', path: 'reload', from: reload, to: null }])
  })

  test('of an operation belongs to its group, one of the defaults to all groups that inherit it', () => {
    const operation = diffTexts(sandbox, `operations: { inventory.sync: { state: reject } }\n${sandbox}`)
    const defaults = diffTexts(sandbox, `defaults: { timeouts: { headers: 1s }, deadline: 2s }\n${sandbox}`)

    expect(operation).toMatchObject([{ part: 'operations.inventory.sync', path: 'operations.inventory.sync.state' }])
    expect(changedGroups(operation)).toEqual(['inventory'])
    expect(changedGroups(defaults)).toEqual(groups)
    expect(defaults.map(({ path }) => path)).toEqual([
      ...groups.map((group) => `upstreams.${group}.timeouts.headers`),
      ...allOperations.map(({ id }) => `operations.${id}.deadline`),
    ])
  })
})

describe('operators', () => {
  const hashes = ['a', 'b', 'c'].map((digit) => digit.repeat(64))
  const tokens = (...entries: readonly (readonly [name: string, hash: 0 | 1 | 2, scope: string])[]) =>
    `admin: { tokens: ${JSON.stringify(entries.map(([name, hash, scope]) => ({ name, hash: hashes[hash], scope })))} }\n${sandbox}`
  const changesOf = (before: string, after: string) =>
    diffTexts(before, after).map(({ path, from, to }) => [path, from, to])

  test('who come, go, or may do something else are listed by name', () => {
    const before = tokens(['rita', 0, 'read'], ['anna', 1, 'read'])
    const after = tokens(['anna', 1, 'operate'], ['bob', 2, 'metrics'])

    expect(changesOf(before, after)).toEqual([
      ['admin.tokens.rita', 'read', null],
      ['admin.tokens.anna.scope', 'read', 'operate'],
      ['admin.tokens.bob', null, 'metrics'],
    ])
  })

  test('whose token is replaced are listed by name, at each step, without a secret', () => {
    const rita = ['rita', 0, 'read'] as const
    const [old, next] = [tokens(rita, ['anna', 1, 'operate']), tokens(rita, ['anna', 2, 'operate'])]
    const both = tokens(rita, ['anna', 1, 'operate'], ['anna', 2, 'operate'])

    expect(changesOf(old, both)).toEqual([['admin.tokens.anna', 'operate', ['operate', 'operate']]])
    expect(changesOf(both, next)).toEqual([['admin.tokens.anna', ['operate', 'operate'], 'operate']])
    expect(changesOf(old, next)).toEqual([['admin.tokens.anna.hash', '***', '***']])
  })

  test('who stand in another order are one change', () => {
    const [rita, anna] = [['rita', 0, 'read'] as const, ['anna', 1, 'read'] as const]

    expect(diffTexts(tokens(rita, anna), tokens(anna, rita))).toMatchObject([{ path: 'admin.tokens' }])
  })
})

describe('clients', () => {
  const clients = (...entries: readonly object[]) =>
    `auth: { methods: [apiKey] }\nclients: ${JSON.stringify(entries)}\n${sandbox}`
  const keyed = (id: string, more: object = {}, ...digits: readonly string[]) => ({
    id,
    operations: 'all',
    apiKeys: digits.map((digit) => ({ id: `${id}-${digit}`, sha256: digit.repeat(64) })),
    ...more,
  })
  const changesOf = (before: string, after: string) =>
    diffTexts(before, after).map(({ path, from, to }) => [path, from, to])

  test('are compared one by one, key by key, and a key of theirs by its id', () => {
    const [one, other] = [keyed('bank-a', { rate: '10/s' }, 'a'), keyed('bank-b', {}, 'b')]
    const [faster, another] = [keyed('bank-a', { rate: '20/s' }, 'a'), keyed('bank-b', {}, 'c')]

    expect(changesOf(clients(one, other), clients(faster, other))).toEqual([
      ['clients.bank-a.rate', '10/s', '20/s'],
      ['clients.bank-a.burst', 10, 20],
    ])
    expect(changesOf(clients(one, other), clients(one, another))).toMatchObject([
      ['clients.bank-b.apiKeys.bank-b-b', expect.anything(), null],
      ['clients.bank-b.apiKeys.bank-b-c', null, expect.anything()],
    ])
    expect(JSON.stringify(changesOf(clients(one), clients(other)))).not.toContain('a'.repeat(64))
    expect(changesOf(clients(one, other), clients(other, one))).toMatchObject([
      ['clients', expect.anything(), expect.anything()],
    ])
  })
})

describe('the contract', () => {
  const named = 'contract: { file: contract.json }'
  const folderOf = (title: string) =>
    folderWith({ 'contract.json': JSON.stringify({ ...sampleContract, info: { title, version: '1' } }) })
  const reportIn = (folder: string, contract: string) =>
    reportConfig(validConfig(`${contract}\n${sandbox}`, {}, `${folder}/gateway.yaml`))
  const changesOf = (...reports: readonly [ReturnType<typeof reportIn>, ReturnType<typeof reportIn>]) =>
    diffReports(...reports).map(({ path, from, to }) => [path, from, to])

  test('that has changed under the same name is told by its digests', () => {
    const [before, after] = ['one', 'two'].map((title) => reportIn(folderOf(title), named))

    const [[path, from, to] = []] = before && after ? changesOf(before, after) : []

    expect(path).toBe('contract.file')
    for (const each of [from, to]) expect(each).toMatch(/^contract\.json@[0-9a-f]{12}$/)
    expect(from).not.toBe(to)
  })

  const rejecting = 'contract: { file: contract.json, unchecked: reject }'
  const enforced = 'contract: { file: contract.json, request: enforce }'
  const own = 'operations: { market.insights: { contract: { request: off } } }'

  const modeChange = ['contract.request', 'enforce', 'report']
  const ownChange = ['operations.market.insights.contract.request', 'off', 'report']
  const newOf = (more: object) => [['contract', 'none', expect.objectContaining(more)]]

  test.each([
    ['another mode', named, enforced, [['contract.request', 'report', 'enforce']]],
    ['messages that cannot be checked', named, rejecting, [['contract.unchecked', 'pass', 'reject']]],
    ['a contract that is new and rejects what cannot be checked', '', rejecting, newOf({ unchecked: 'reject' })],
    ['a contract that is new', '', named, newOf({ file: 'contract.json' })],
    ['a mode of an operation of its own', `${enforced}\n${own}`, named, [modeChange, ownChange]],
  ])('%s is told once, and not of each operation that follows it', (_, before, after, changes) => {
    const folder = folderOf('one')

    expect(changesOf(reportIn(folder, before), reportIn(folder, after))).toEqual(changes)
  })
})
