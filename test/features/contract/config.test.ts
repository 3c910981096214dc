import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../../src/core/config/load/load-config.ts'
import { programCommand } from '../../../src/core/lib/program.ts'
import { findProblems, folderWith, parse, sandbox, validConfig } from '../../core/config/helper.ts'
import { contractFile } from '../../helpers/contract.ts'
import { insights } from './compile/loading.ts'

/** The warnings of the configuration, without those of the contract's own file, which takes the place of FILE. */
const warningsOf = (text: string, file = '') => {
  const result = parse(`${sandbox}\n${text.replace('FILE', file)}`)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings
    .filter(({ file }) => file === 'gateway.yaml')
    .map(({ path, message, found }) => [path, message, found])
}

const passes = 'messages that cannot be checked pass, though the contract is enforced: valuation.score'
const bothPass = ['contract.unchecked', `${passes}, market.insights`, 'pass']
const ofPipeline = 'operations: { leads.pipeline: { contract: { request: enforce } } }'
const ofScore = 'operations: { valuation.score: { contract: { request: enforce, unchecked: pass } } }'
const learned = 'this enforces nothing: contract.file is not set'
const ofLearned = (key: string) => [`contract.${key}`, learned, 'enforce']
const inPipeline = (found: string) => ['operations.leads.pipeline.contract', `this does nothing: ${found}`, 'none']

test.each<[string, readonly (readonly string[])[]]>([
  ['contract: { file: FILE, request: enforce }', [bothPass]],
  ['contract: { file: FILE, request: enforce, unchecked: reject }', []],
  ['contract: { file: FILE }', []],
  [`contract: { file: FILE, unchecked: reject }\n${ofScore}`, [['contract.unchecked', passes, 'pass']]],
  [`contract: { file: FILE }\n${ofPipeline}`, [inPipeline('the contract does not have the operation')]],
  [ofPipeline, [inPipeline('there is no contract')]],
  ['contract: { learn: true, request: enforce, response: enforce }', ['request', 'response'].map(ofLearned)],
  ['contract: { learn: true, request: off }', []],
])('%s gets the warnings %j', (text, expected) => {
  expect(warningsOf(text, contractFile())).toEqual(expected)
})

test('an enforced contract of responses where what cannot be checked passes gets the warning too', () => {
  expect(warningsOf('contract: { file: FILE, response: enforce }', contractFile())).toContainEqual(bothPass)
})

test('enforced responses without default and without 5XX get one warning', () => {
  const warningsFor = (status: string, mode = 'enforce') =>
    warningsOf(
      `contract: { file: FILE, response: ${mode}, unchecked: reject }`,
      contractFile(insights({ responses: { [status]: { description: 'x' } } })),
    )
  const message = "clients get 502 in place of an upstream's 5xx that the contract does not name: market.insights"

  expect(warningsFor('200')).toEqual([['contract.file', message, 'neither']])
  expect([warningsFor('default'), warningsFor('5XX'), warningsFor('200', 'report')]).toEqual([[], [], []])
})

describe('a header field that the gateway takes out before the check', () => {
  const message = 'every request breaks the contract: it requires header fields that the gateway removes first'
  const jwt = 'methods: [jwt], jwt: { issuer: a, audience: [b], jwks: https://login.example/jwks }'
  const trusting = 'listen: { trustedProxies: [192.0.2.1] }'
  /** The warnings with a contract that requires a field of market.insights. */
  const warningsWith = (name: string, text: string, required = true) => {
    const parameters = [{ name, in: 'header', required, schema: { type: 'string' } }]
    const warnings = warningsOf(`contract: { file: FILE }\n${text}`, contractFile(insights({ parameters })))
    return warnings.filter(([path]) => path === 'contract.file')
  }

  test.each([
    ['X-Api-Key', 'auth: { methods: [apiKey] }'],
    ['X-Key', 'auth: { methods: [apiKey], apiKey: { field: x-key } }'],
    ['DPoP', `auth: { ${jwt} }`],
    ['Client-Cert', `auth: { methods: [mtls], mtls: { from: client-cert } }\n${trusting}`],
    ['Client-Cert-Chain', `auth: { ${jwt}, mtls: { from: client-cert } }\n${trusting}`],
    ['X-Own', 'auth: { methods: [apiKey], identityField: X-Own }\noperations: { market.insights: { auth: none } }'],
    ['Connection', ''],
    ['X-Original-URL', ''],
    ['Host', ''],
  ])('gets a warning when the contract requires it: %s', (name, text) => {
    expect(warningsWith(name, text)).toEqual([['contract.file', message, `${name.toLowerCase()} of market.insights`]])
  })

  const keys = 'auth: { methods: [apiKey] }'
  const unchecked = 'operations: { market.insights: { contract: { request: off } } }'

  test.each([
    ['where credentials are forwarded', 'X-Api-Key', 'auth: { methods: [apiKey], credentials: forward }'],
    ['where a proxy may say what was asked for', 'X-Original-URL', trusting],
    ['where the file has it forwarded', 'X-Original-URL', 'listen: { overrideFields: forward }'],
    ['without auth', 'X-Api-Key', ''],
    ['where another credential is asked for', 'X-Api-Key', `auth: { ${jwt} }`],
    ['where upstreams are told the client in it', 'X-Client', 'auth: { methods: [apiKey], identityField: X-Client }'],
    ['where requests are not checked', 'X-Api-Key', `${keys}\n${unchecked}`],
  ])('gets none %s', (_, name, text) => {
    expect(warningsWith(name, text)).toEqual([])
  })

  test('an optional header field that the gateway removes gets no warning', () => {
    expect(warningsWith('X-Api-Key', keys, false)).toEqual([])
  })
})

test('a file that is the contract itself has one problem, which says so', () => {
  const result = parseConfig(Buffer.from('openapi: 3.1.0\ninfo: { title: t, version: v }\npaths: {}\n'), 'c.yaml', {})

  const message = 'this is an OpenAPI document, not a configuration'
  expect(result).toMatchObject({ ok: false, problems: [{ line: 1, message }] })
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
      ...{ file: 'gateway.yaml', line: 3, column: 9, path: 'contract.file' },
      message: 'the contract cannot be read: no such file',
      expected: 'an OpenAPI document of at most 8MiB',
      found: '"contrat.yaml"',
      hint: `a relative path starts at the folder of this file; ${programCommand()} contract draft prints one`,
    },
  ])
})

test('problems of the configuration and of its contract are reported together', () => {
  const problems = problemsOf('contract: { file: contract.yaml, sample: many }\nlimit: {}', {
    'contract.yaml': 'openapi: 3.1.1\npaths: { /valuation/score: { put: { responses: {} } } }',
  })

  expect(problems).toMatchObject([
    { file: 'gateway.yaml', path: 'contract.sample' },
    { file: 'gateway.yaml', path: 'limit' },
    { file: 'contract.yaml', path: 'paths."/valuation/score".put' },
  ])
})

test.each(['{ }', '{ request: enforce }', '{ learn: false, enums: true }'])(
  'a contract of %s says neither what messages are held to nor that it is learned',
  (contract) => {
    expect(findProblems(`${sandbox}\ncontract: ${contract}`)).toMatchObject([
      { path: 'contract', found: 'neither', hint: expect.stringMatching(/file: contract\.yaml.*learn: true/) },
    ])
  },
)

test('a contract that is only learned holds no operation to anything', () => {
  const ofScore = 'operations: { valuation.score: { contract: { response: enforce } } }'
  const config = validConfig(`${sandbox}\ncontract: { learn: true, request: enforce }\n${ofScore}`)

  expect(config).toMatchObject({ contract: { file: null, learn: true, enums: false }, compiledContract: null })
  for (const { contract } of Object.values(config.operations))
    expect(contract).toEqual({ request: 'off', response: 'off', unchecked: 'pass' })
})
