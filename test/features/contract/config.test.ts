import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../../src/core/config/load/load-config.ts'
import { programCommand } from '../../../src/core/lib/program.ts'
import { findProblems, folderWith, parse, sandbox, validConfig } from '../../core/config/helper.ts'
import { contractFile } from '../../helpers/contract.ts'

/** The warnings of the configuration, without those of the contract's own file. */
const warningsOf = (text: string) => {
  const result = parse(`${sandbox}\n${text}`)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings
    .filter(({ file }) => file === 'gateway.yaml')
    .map(({ path, message, found }) => [path, message, found])
}

test('an enforced contract where what cannot be checked passes gets one warning', () => {
  const contract = `file: ${contractFile()}`
  const message = 'what cannot be checked passes, though the contract is enforced: valuation.score, market.insights'
  const warning = ['contract.unchecked', message, 'pass']

  expect(warningsOf(`contract: { ${contract}, request: enforce }`)).toEqual([warning])
  expect(warningsOf(`contract: { ${contract}, response: enforce }`)).toContainEqual(warning)
  expect(warningsOf(`contract: { ${contract}, request: enforce, unchecked: refuse }`)).toEqual([])
  expect(warningsOf(`contract: { ${contract} }`)).toEqual([])
  expect(
    warningsOf(
      `contract: { ${contract}, unchecked: refuse }
operations: { valuation.score: { contract: { request: enforce, unchecked: pass } } }`,
    ),
  ).toEqual([['contract.unchecked', message.replace(', market.insights', ''), 'pass']])
})

test('enforced responses without default and without 5XX get one warning', () => {
  const paths = (status: string) => ({ '/market/insights': { get: { responses: { [status]: { description: 'x' } } } } })
  const enforced = (status: string) =>
    `contract: { file: ${contractFile({ openapi: '3.1.1', info: { title: 't', version: '1' }, paths: paths(status) })}, response: enforce, unchecked: refuse }`
  const message = "clients get 502 in place of an upstream's 5xx that the contract does not name: market.insights"

  expect(warningsOf(enforced('200'))).toEqual([['contract.file', message, 'neither']])
  expect(warningsOf(enforced('default'))).toEqual([])
  expect(warningsOf(enforced('5XX'))).toEqual([])
  expect(warningsOf(enforced('200').replace('enforce', 'report'))).toEqual([])
})

test('modes of an operation that the contract leaves out get a warning', () => {
  const operation = 'operations: { leads.pipeline: { contract: { request: enforce } } }'

  expect(warningsOf(`contract: { file: ${contractFile()} }\n${operation}`)).toEqual([
    ['operations.leads.pipeline.contract', 'this does nothing: the contract does not have the operation', 'none'],
  ])
  expect(warningsOf(operation)).toEqual([
    ['operations.leads.pipeline.contract', 'this does nothing: there is no contract', 'none'],
  ])
})

test('modes that enforce nothing, for learning has taken the place of a file, get a warning', () => {
  const nothing = 'this enforces nothing: no file says what the contract is'

  expect(warningsOf('contract: { learn: true, request: enforce, response: enforce }')).toEqual([
    ['contract.request', nothing, 'enforce'],
    ['contract.response', nothing, 'enforce'],
  ])
  expect(warningsOf('contract: { learn: true, request: off }')).toEqual([])
})

describe('a header field that the gateway takes out before the check', () => {
  const message = 'every request breaks the contract: it requires header fields that the gateway takes out before'
  const jwt = 'methods: [jwt], jwt: { issuer: a, audience: [b], jwks: https://login.example/jwks }'
  /** The warnings with a contract that requires a field of market.insights. */
  const warningsWith = (name: string, text: string, required = true) => {
    const parameters = [{ name, in: 'header', required, schema: { type: 'string' } }]
    const get = { parameters, responses: { 200: { description: 'insights' } } }
    const file = contractFile({ openapi: '3.1.1', paths: { '/market/insights': { get } } })
    return warningsOf(`contract: { file: ${file} }\n${text}`).filter(([path]) => path === 'contract.file')
  }

  test.each([
    ['X-Api-Key', 'auth: { methods: [apiKey] }'],
    ['X-Key', 'auth: { methods: [apiKey], apiKey: { field: x-key } }'],
    ['DPoP', `auth: { ${jwt} }`],
    ['Client-Cert', 'auth: { methods: [mtls], mtls: { from: client-cert } }\nlisten: { trustedProxies: [192.0.2.1] }'],
    ['Client-Cert-Chain', `auth: { ${jwt}, mtls: { from: client-cert } }\nlisten: { trustedProxies: [192.0.2.1] }`],
    [
      'X-Client',
      'auth: { methods: [apiKey], identityField: X-Client }\noperations: { market.insights: { auth: none } }',
    ],
    ['Connection', ''],
    ['X-Original-URL', ''],
    ['Host', ''],
  ])('gets a warning when the contract requires it: %s', (name, text) => {
    expect(warningsWith(name, text)).toEqual([['contract.file', message, `${name.toLowerCase()} of market.insights`]])
  })

  test.each([
    ['where credentials are forwarded', 'X-Api-Key', 'auth: { methods: [apiKey], credentials: forward }'],
    ['where a proxy may say what was asked for', 'X-Original-URL', 'listen: { trustedProxies: [192.0.2.1] }'],
    ['where the file has it forwarded', 'X-Original-URL', 'listen: { overrideFields: forward }'],
    ['where nobody looks at credentials', 'X-Api-Key', ''],
    ['where another credential is asked for', 'X-Api-Key', `auth: { ${jwt} }`],
    ['where upstreams are told the client in it', 'X-Client', 'auth: { methods: [apiKey], identityField: X-Client }'],
    [
      'where requests are not checked',
      'X-Api-Key',
      'auth: { methods: [apiKey] }\noperations: { market.insights: { contract: { request: off } } }',
    ],
  ])('gets none %s', (_, name, text) => {
    expect(warningsWith(name, text)).toEqual([])
  })

  test('gets none where it may be left out', () => {
    expect(warningsWith('X-Api-Key', 'auth: { methods: [apiKey] }', false)).toEqual([])
  })
})

test('a file that is the contract itself has one problem, which says so', () => {
  const result = parseConfig(Buffer.from('openapi: 3.1.0\ninfo: { title: t, version: v }\npaths: {}\n'), 'c.yaml', {})

  expect(result).toMatchObject({
    ok: false,
    problems: [{ line: 1, message: 'this is an OpenAPI document, and no configuration' }],
  })
  expect(result.ok || result.problems).toHaveLength(1)
})

/** The problems of a configuration beside these files, each with the name of its file and its place. */
const problemsOf = (text: string, files: Readonly<Record<string, string>> = {}) => {
  const folder = folderWith(files)
  return findProblems(`${sandbox}\n${text}`, {}, join(folder, 'gateway.yaml')).map((problem) => ({
    ...problem,
    file: problem.file.replace(`${folder}/`, ''),
  }))
}

test('a contract that cannot be read is a problem of the line that names it', () => {
  expect(problemsOf('contract:\n  file: contrat.yaml', { 'contract.yaml': '' })).toEqual([
    {
      file: 'gateway.yaml',
      line: 3,
      column: 9,
      path: 'contract.file',
      message: 'the contract cannot be read: no such file',
      expected: 'an OpenAPI document of at most 8MiB',
      found: '"contrat.yaml"',
      hint: `a relative path starts at the folder of this file; ${programCommand()} contract draft prints one`,
    },
  ])
})

test('problems of the configuration and of its contract are told at once', () => {
  const problems = problemsOf('contract: { file: contract.yaml, sample: many }\nlimit: {}', {
    'contract.yaml': 'openapi: 3.1.1\npaths: { /valuation/score: { put: { responses: {} } } }',
  })

  expect(problems.map(({ file, path }) => `${file} ${path}`)).toEqual([
    'gateway.yaml contract.sample',
    'gateway.yaml limit',
    'contract.yaml paths."/valuation/score".put',
  ])
})

test.each(['{ }', '{ request: enforce }', '{ learn: false, enums: true }'])(
  'a contract of %s says neither what messages are held to nor that it is learnt',
  (contract) => {
    expect(findProblems(`${sandbox}\ncontract: ${contract}`)).toMatchObject([
      { path: 'contract', found: 'neither', hint: expect.stringMatching(/file: contract\.yaml.*learn: true/) },
    ])
  },
)

test('a contract that is only learnt holds no operation to anything', () => {
  const config = validConfig(
    `${sandbox}\ncontract: { learn: true, request: enforce }\noperations: { valuation.score: { contract: { response: enforce } } }`,
  )

  expect(config.contract).toMatchObject({ file: null, learn: true, enums: false })
  expect(config.compiledContract).toBe(null)
  expect(Object.values(config.operations).map(({ contract }) => contract)).toEqual(
    Array.from({ length: 9 }, () => ({ request: 'off', response: 'off', unchecked: 'pass' })),
  )
})
