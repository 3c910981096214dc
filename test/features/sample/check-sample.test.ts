import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Config } from '../../../src/core/config/config.ts'
import type { CheckedMessage, CheckedSample } from '../../../src/features/sample/check-sample.ts'
import { checkSampleFiles } from '../../../src/features/sample/sample-report.ts'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { folderWith, sandbox, validConfig } from '../../core/config/helper.ts'
import { runInProcess } from '../../golden/golden.ts'
import { contractFile, sampleContract, sampleOfPage } from '../../helpers/contract.ts'
import { bootGateway } from '../../helpers/gateway.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

type Tree = Readonly<Record<string, unknown>>

type Message = CheckedMessage | null

/** Writes a configuration with the contract of the tests, and a file of samples as text or as a value. */
const folderFor = (samples: unknown, contract: Tree = {}, more = ''): string =>
  folderWith({
    'contract.json': JSON.stringify(sampleContract),
    'gateway.yaml': `${sandbox}\ncontract: ${JSON.stringify({ file: 'contract.json', ...contract })}\n${more}`,
    'sample.json': typeof samples === 'string' ? samples : JSON.stringify(samples),
  })

/** Checks a sample of a folder against the configuration there. */
const runCheck = (folder: string, sample = 'sample.json', ...more: readonly string[]) =>
  runInProcess('check', join(folder, 'gateway.yaml'), '--sample', join(folder, sample), ...more)

const configs = new Map<string, { readonly file: string; readonly config: Config }>()

/** Loads a configuration with the contract of the tests, once. */
const configFor = (contract: Tree, more: string) => {
  const key = JSON.stringify([contract, more])
  const folder = folderFor([], contract, more)
  const file = join(folder, 'gateway.yaml')
  const made = configs.get(key) ?? { file, config: validConfig(readFileSync(file, 'utf8'), {}, file) }
  configs.set(key, made)
  return made
}

const check = async (samples: unknown, contract: Tree = {}, more = '') => {
  const { file, config } = configFor(contract, more)
  const text = typeof samples === 'string' ? samples : JSON.stringify(samples)
  return checkSampleFiles([join(folderWith({ 'sample.json': text }), 'sample.json')], config, file)
}

const placesOf = (message: Message | undefined): readonly string[] =>
  (message?.violations ?? []).map(({ in: place, pointer, rule }) => `${place} ${pointer} ${rule}`)

/** Checks one sample; returns the places of its request. */
const requestPlaces = async (sample: unknown) => placesOf((await check(sample)).samples[0]?.request)

const good = { operation: 'valuation.score', query: { mode: 'fast' }, body: { id: 'a', amount: 1 } }

describe('a sample', () => {
  test('that keeps the contract is good', async () => {
    const { ok, samples } = await check({ ...good, response: { status: 200, body: { grade: 'A' } } })

    const kept = { mode: 'report', violations: [], unchecked: null, rejected: null }
    expect(ok).toBe(true)
    expect(samples).toMatchObject([{ operation: 'valuation.score', line: 1, request: kept, response: kept }])
  })

  test('of a response needs none of the fields that the gateway adds', async () => {
    const required = { required: true, schema: { type: 'string' } }
    const contract = structuredClone(sampleContract)
    const headers = { 'X-Request-Id': required, Via: required, 'X-Version': required }
    Object.assign(contract.paths['/market/insights'].get.responses[200], { headers })
    const folder = folderFor({ operation: 'market.insights', response: { status: 200, body: {} } })
    writeFileSync(join(folder, 'contract.json'), JSON.stringify(contract))

    const { out } = await runCheck(folder, 'sample.json', '--format', 'json')

    expect(placesOf(JSON.parse(out).samples[0].response)).toEqual(['header /x-version required'])
  })

  test('that breaks it exits with 1, with every place in request and response', async () => {
    const sample = {
      operation: 'valuation.score',
      query: 'mode=slow',
      body: { id: 7, amount: -1 },
      response: { status: 200, body: { grade: 'Z' } },
    }

    const { code, out } = await runCheck(folderFor(sample), 'sample.json', '--format', 'json')

    const { ok, samples, problems } = JSON.parse(out)
    expect({ code, ok, problems }).toEqual({ code: 1, ok: false, problems: [] })
    expect(placesOf(samples[0]?.request)).toEqual(['query /mode enum', 'body /id type', 'body /amount minimum'])
    expect(placesOf(samples[0]?.response)).toEqual(['body /grade pattern'])
  })

  test('is named by its method and path, with the base path and the query', async () => {
    const of = (path: string) => check({ method: 'GET', path }, {}, 'listen: { basePath: /v1 }')

    const kept = await of('/v1/market/insights?limit=5')

    expect([kept.ok, kept.samples[0]?.operation]).toEqual([true, 'market.insights'])
    expect(placesOf((await of('/v1/market/insights')).samples[0]?.request)).toEqual(['query /limit required'])
    expect((await of('/market/insights')).problems).toMatchObject([
      { path: 'path', hint: 'send GET /v1/market/insights' },
    ])
  })

  test('of a response alone checks no request', async () => {
    const { ok, samples } = await check({ operation: 'valuation.score', response: { status: 404 } })

    expect(ok).toBe(false)
    expect(samples[0]?.request).toBeNull()
    expect(placesOf(samples[0]?.response)).toEqual(['status  status'])
  })

  test('is told in its place, whether its messages were checked or it has a problem', async () => {
    const folder = folderFor(`[
      { "operation": "inventory.sync" },
      { "operation": "market.insights" },
      { "operation": "market.insight" },
      { "operation": "valuation.score", "body": { "id": "a" } }\n]`)
    const none = join(folder, 'none.json')

    const { out } = await runCheck(folder, 'sample.json', '--sample', none)

    const places = out.matchAll(/^\S+\/(gateway\.yaml|sample\.json:\d|none\.json:\d)/gm)
    const own = out.slice(out.indexOf(': good'))
    const last = [...places].map(([, place]) => place).slice(-5)
    expect(last.join()).toBe('sample.json:2,sample.json:3,sample.json:4,sample.json:5,none.json:1')
    expect(own).toMatch(/\n3 problems\n$/)
  })

  test('has names of its own told, and no control character of them', async () => {
    const contract = structuredClone(sampleContract)
    Object.assign(contract.components.schemas.Asset, { additionalProperties: false })
    const folder = folderFor({ operation: 'valuation.score', body: { id: 'a', amuont: 1, '\u001b[2J': 2 } })
    writeFileSync(join(folder, 'contract.json'), JSON.stringify(contract))

    const { out } = await runCheck(folder)

    expect(out).toContain('body /amuont   additionalProperties')
    expect(out).toContain('body /\\x1b[2J')
    expect(out).not.toContain('\u001b')
  })
})

describe('the body', () => {
  const text = '{"id":"a"}'
  const json = { 'Content-Type': 'application/json' }
  const twice = '{ "id": "a", "amount": -1, "amount": 1 }'

  test.each<[string, unknown, readonly string[]]>([
    [
      'is checked as it is written, which a parser would lose',
      `{ "operation": "valuation.score", "body": ${twice} }`,
      ['body  duplicate-member'],
    ],
    ['has the type application/json unless a field says otherwise', good, []],
    [
      'has the type that a field says',
      { ...good, headers: { 'content-type': 'text/plain' } },
      ['content-type  content-type'],
    ],
    ['may have a charset', { ...good, headers: { 'CONTENT-TYPE': 'application/json; charset=utf-8' } }, []],
    ['as a text has the type that is said', { operation: 'valuation.score', headers: json, bodyText: text }, []],
    ['as a text may have none', { operation: 'valuation.score', bodyText: text }, ['content-type  required']],
    ['as a text is JSON', { operation: 'valuation.score', headers: json, bodyText: '{"id":' }, ['body  json']],
  ])('%s', async (_, sample, expected) => {
    expect(await requestPlaces(sample)).toEqual(expected)
  })

  test.each([
    ['too-large', { body: { id: 'x'.repeat(1024) } }],
    ['coded', { ...good, headers: { 'Content-Encoding': 'gzip' } }],
  ])('that the gateway would not check is not checked: %s', async (why, members) => {
    const { ok, samples } = await check({ operation: 'valuation.score', ...members }, { maxBody: '1KiB' })

    expect(ok).toBe(true)
    expect(samples[0]?.request).toMatchObject({ unchecked: why, violations: [] })
  })
})

/** Checks a sample of market.insights against a contract that requires these fields. */
const checkFields = async (names: readonly string[], schema: object, members: object, config = sandbox) => {
  const parameters = names.map((name) => ({ name, in: 'header', required: true, schema }))
  const ok = { description: 'ok', content: { 'application/json': {} } }
  const paths = { '/market/insights': { get: { parameters, responses: { 200: ok } } } }
  const folder = folderWith({
    'contract.json': JSON.stringify({ openapi: '3.1.0', paths }),
    'sample.json': JSON.stringify({ operation: 'market.insights', ...members }),
  })
  const file = join(folder, 'gateway.yaml')
  const settings = validConfig(`${config}\ncontract: { file: contract.json }\n`, {}, file)
  const { samples } = await checkSampleFiles([join(folder, 'sample.json')], settings, file)
  return [placesOf(samples[0]?.request), placesOf(samples[0]?.response)]
}

test('fields that never reach the contract keep none', async () => {
  const headers = { 'Keep-Alive': 'timeout=5' }

  const [request] = await checkFields(['X-Request-Id', 'Keep-Alive', 'X-Ours'], { type: 'string' }, { headers })

  // The gateway itself adds the request id.
  expect(request).toEqual(['header /keep-alive required', 'header /x-ours required'])
})

test('fields are checked as the gateway has made them: by auth, and by the edits of the primary', async () => {
  const market = '{ endpoints: [sandbox], response: { set: { Content-Type: application/json } } }'
  const config = `${sandbox.replace('market: sandbox', `market: ${market}`)}
auth: { methods: [apiKey], identityField: X-Client-Id }
clients: [{ id: bank-a, operations: all, apiKeys: [{ id: one, sha256: ${'a'.repeat(64)} }] }]`
  const headers = { 'X-Api-Key': 'bank-a', X_Client_Id: 'forged', 'X-Client-Id': 'forged', 'X-Ours': 'as it came' }
  const response = { status: 200, headers: { 'Content-Type': 'text/html' }, bodyText: '{}' }
  const schema = { enum: ['bank-a', 'as it came'] }

  const places = await checkFields(['X-Api-Key', 'X-Client-Id', 'X-Ours'], schema, { headers, response }, config)

  expect(places).toEqual([['header /x-api-key required'], []])
})

test('a sample gets what the gateway gives to the same request and response', async () => {
  const headers = { 'Content-Type': 'application/json' }
  const tooLarge = JSON.stringify({ id: 'x'.repeat(1024) })
  const requestOf = (bodyText: string, query = '', type = headers['Content-Type']) => ({
    ...{ headers: { 'Content-Type': type }, query, bodyText },
  })
  const requests = [
    ...['{"id":"a"}', '{"id":7}', '{"id":', '', '{"id":"a","id":"b"}', tooLarge].map((text) => requestOf(text)),
    requestOf('{"id":"a"}', '', 'text/plain'),
    ...[requestOf('{"id":"a"}', '?mode=slow'), requestOf('{"id":"a"}', '?mode=%zz'), requestOf(tooLarge, '?mode=slow')],
  ]
  const responses = [
    ...['{"grade":"A"}', '{"grade":"Z"}', ''].map((bodyText) => ({ status: 200, headers, bodyText })),
    { status: 200, headers: {}, bodyText: '{"grade":"A"}' },
    { status: 404, headers, bodyText: '{}' },
    { status: 304, headers: {}, bodyText: '' },
  ]
  const pairs = [
    ...requests.map((request) => ({ request, response: responses[0] })),
    ...responses.map((response) => ({ request: requests[0], response })),
  ]
  const modes = { request: 'enforce', response: 'enforce', unchecked: 'reject', maxBody: '1KiB' }
  let nth = 0
  const upstream = await httpUpstream((_, response) => {
    const { status = 0, headers = {}, bodyText = '' } = pairs[nth]?.response ?? {}
    response.writeHead(status, headers).end(bodyText)
  })
  const messages = pairs.map(({ request, response }) => ({ operation: 'valuation.score', ...request, response }))
  const gateway = await bootGateway({ upstream: upstream.url, contract: { file: contractFile(), ...modes } })

  const given: number[] = []
  for (const [i, { request }] of pairs.entries()) {
    nth = i
    const { headers = {}, query = '', bodyText = '' } = request ?? {}
    const url = `${gateway.url}/valuation/score${query}`
    given.push((await fetch(url, { method: 'POST', headers: { ...headers }, body: bodyText })).status)
  }
  const { samples } = await check(messages, modes)

  const statusOf = ({ request, response }: CheckedSample) => request?.rejected?.status ?? response?.rejected?.status
  expect(samples.map((row, i) => statusOf(row) ?? pairs[i]?.response?.status)).toEqual(given)
  expect([...new Set(given)].sort()).toEqual([200, 304, 400, 413, 415, 502])
})

test('docs/command-line.md shows what is printed for its example', async () => {
  const folder = folderFor(sampleOfPage(), { request: 'enforce' })
  const page = readFileSync(new URL('../../../docs/command-line.md', import.meta.url), 'utf8')
  const [, shown = ''] = /check --sample request\.json\n[^\n]+: good[^\n]+\n(.*?)```/s.exec(page) ?? []

  const { out } = await runCheck(folder)

  expect(shown).toContain('the client gets 400')
  expect(out.replaceAll(join(folder, 'sample.json'), 'request.json')).toContain(shown)
})

describe('what is wrong with a file', () => {
  test.each([
    ['{ "operation": "valuation.score" "body": 1 }', ['1:34 : the sample is not JSON']],
    ['', ['1:1 : the sample is not JSON']],
    ['[]', ['1:1 : the list is empty']],
    ['{}', ['1:1 : operation is missing']],
    ['{ "operation": "valuation.score", "path": "/x" }', ['1:35 path: the operation is named already']],
    ['{ "operation": "market.insight" }', ['1:16 operation: unknown operation; did you mean "market.insights"?']],
    ['{ "operation": 1 }', ['1:16 operation: the wrong kind of value']],
    ['{ "operaton": "x" }', ['1:1 : operation is missing', '1:3 operaton: unknown key; did you mean "operation"?']],
    ['{ "operation": "leads.pipeline", "operation": "x" }', ['1:34 operation: the name is there twice']],
    ['{ "method": "get", "path": "/leads/pipeline" }', [expect.stringContaining('1:28 path: the gateway rejects it')]],
    ['{ "method": "GET", "path": "/market/insights?a", "query": "b" }', ['1:50 query: the path has a query already']],
    ['{ "operation": "market.insights", "query": { "a": [1, {}] } }', ['1:55 query.a[1]: the wrong kind of value']],
    ['{ "operation": "market.insights", "headers": { "a b": "" } }', ['1:48 headers."a b": no name of a header field']],
    ['{ "operation": "market.insights", "headers": { "a": "é" } }', ['1:53 headers.a: no value of a header field']],
    ['{ "operation": "market.insights", "body": 1, "bodyText": "" }', ['1:46 bodyText: there is a body already']],
    ['{ "operation": "market.insights", "response": {} }', ['1:47 response: status is missing']],
    [
      '{ "operation": "leads.pipeline", "response": { "status": 100 } }',
      ['1:58 response.status: the wrong kind of value'],
    ],
    [
      '{ "operation": "market.insights", "response": { "status": 200, "query": 1 } }',
      ['1:64 response.query: unknown key'],
    ],
    [
      '[\n {},\n { "operation": "inventory.sync" }]',
      ['2:2 [0]: operation is missing', '3:2 operation: the contract does not have inventory.sync'],
    ],
  ])('%s', async (text, expected) => {
    const { problems } = await check(text)

    expect(problems.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`)).toEqual(expected)
  })

  test.each([
    ['a path', '{ "method": "GET", "path": "/market/insights\\ud83d" }', 'path'],
    ['the text of a query', '{ "operation": "market.insights", "query": "a=\\ud83d" }', 'operation'],
  ])('half a surrogate pair in %s is a problem of that sample alone', async (_where, sample, path) => {
    const { samples, problems } = await check(`[${sample}, ${JSON.stringify(good)}]`)

    const message = expect.stringContaining('is beyond ASCII, and must be escaped: %EF%BF%BD')
    expect(problems).toMatchObject([{ path: expect.stringContaining(path), message }])
    expect(samples).toHaveLength(1)
  })

  test('a file with a problem exits with 1, and one that cannot be read with 2', async () => {
    const folder = folderFor('{')

    expect([(await runCheck(folder)).code, (await runCheck(folder, 'none.json')).code]).toEqual([1, 2])
  })

  test('without a contract there is nothing to check against', async () => {
    const folder = folderWith({ 'gateway.yaml': sandbox, 'sample.json': '{}' })

    const { code, out } = await runCheck(folder)

    expect(code).toBe(1)
    expect(out).toContain('gateway.yaml:1:1 contract: there is no contract to check a sample against\n')
  })

  test('problems of the configuration come first, and alone', async () => {
    const folder = folderWith({ 'gateway.yaml': 'lisen: {}', 'sample.json': '{}' })

    const [config, sample] = [join(folder, 'gateway.yaml'), join(folder, 'sample.json')]

    const { code, out, err } = await runCommand(['check', config, '--sample', sample])

    expect(code).toBe(1)
    expect(out).not.toContain('sample.json')
    expect(err).toBe('lender-gateway: no sample was checked, because the file has problems\n')
  })
})
