/** Checks what docs/reload.md shows of rejected edits: each block is what the gateway prints. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../src/core/config/config.ts'
import { getRestartOnlySettings, reportConfig } from '../../src/core/config/diff/report.ts'
import { loadConfig } from '../../src/core/config/load/load-config.ts'
import { loadInThread } from '../../src/core/config/load/load-in-thread.ts'
import { type ConfigProblem, formatProblem } from '../../src/core/config/problem.ts'
import { WorkersNotReplyingError } from '../../src/core/runtime/proxy-server.ts'
import { findRestartRequired, unreachableProblems } from '../../src/core/runtime/reload/reload-problems.ts'
import { Reloader } from '../../src/core/runtime/reload/reloader.ts'
import { jwksUnavailableProblem } from '../../src/features/auth/tokens/preflight.ts'
import { folderWith, slowFile } from '../core/config/helper.ts'
import { needCertificates } from '../helpers/certificates.ts'

const page = readFileSync(new URL('../../docs/reload.md', import.meta.url), 'utf8')
const [, rejections = ''] = page.split('## Rejected edits as they print')
const shown = [...(rejections.split('\n## ')[0] ?? '').matchAll(/```\n(.*?)\n```/gs)].map(([, block = '']) => block)

/** What the page leaves out. */
const unshown = {
  referencedFile: `gateway.yaml:9:20 upstreams.risk.request.set.X-Api-Key: the file cannot be used: no such file
    expected a readable text file of 1 byte to 64KiB
    found    file:secrets/risk
    hint     a relative name starts at the folder of the configuration file`,
  otherKey: `gateway.yaml:4:10 admin.tls.key: the key does not belong to the certificate
    expected the private key of the first certificate in the file
    found    another key
    hint     a renewal replaces both files; put the certificate of the host first, its chain after it`,
  noFile: `gateway.yaml:1:1: the file cannot be read: no such file
    expected a YAML file of at most 1MiB
    found    no such file`,
  slowFile: `gateway.yaml:1:1: the file takes longer than 30s to read
    expected a configuration file of ordinary size
    found    a larger file, or too little CPU or memory`,
  stopping: `gateway.yaml:1:1: the configuration is valid, but could not be applied
    expected a configuration that can be applied
    found    the gateway is stopping`,
}

const groups =
  'upstreams:\n  valuation: sandbox\n  financing: sandbox\n  analysis: sandbox\n  risk: sandbox\n  inventory: sandbox\n  leads: sandbox\n  compliance: sandbox\n  market: sandbox\n'
const { made, missing } = await needCertificates()

/** Prints problems as if the file stood in the folder of the reader. */
const print = (problems: readonly ConfigProblem[]): string[] =>
  problems.map((problem) => formatProblem({ ...problem, file: 'gateway.yaml' }))

const load = (text: string, files: Readonly<Record<string, string>> = {}) =>
  loadConfig(join(folderWith({ ...files, 'gateway.yaml': text }), 'gateway.yaml'), {})

const problemsIn = (text: string, files?: Readonly<Record<string, string>>): string[] => {
  const loaded = load(text, files)
  return print(loaded.ok ? [] : loaded.problems)
}

const sound = (text: string) => {
  const loaded = load(text)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

const afterRestart = (running: Config, text: string): string[] => {
  return print(findRestartRequired(getRestartOnlySettings(reportConfig(running)), sound(text), 'gateway.yaml'))
}

test('a broken file', () => {
  expect(problemsIn(groups.replace('leads', 'ledas').replace('compliance', 'leads: sandbox\n  compliance'))).toEqual([
    shown[0],
  ])
})

test('a value that cannot change live', () => {
  expect(afterRestart(sound(groups).config, `listen:\n  port: 9000\n${groups}`)).toEqual([shown[1]])
})

test('a file that it refers to', () => {
  const risk = 'risk:\n    endpoints: [sandbox]\n    request:\n      set:\n        X-Api-Key: file:secrets/risk'

  const printed = problemsIn(groups.replace('risk: sandbox', risk))
  expect(printed.map((each) => each?.replace(/(configuration file), .+$/, '$1'))).toEqual([unshown.referencedFile])
})

test.skipIf(missing)('a certificate and the key of another', () => {
  const { right, expired } = made
  const text = `admin:\n  tls:\n    certificate: file:tls.crt\n    key: file:tls.key\n${groups}`

  expect(problemsIn(text, { 'tls.crt': right.cert, 'tls.key': expired.key })).toEqual([unshown.otherKey])
})

test('a file that is gone', () => {
  const loaded = loadConfig('/nonexistent/gateway.yaml')

  expect(print(loaded.ok ? [] : loaded.problems)).toEqual([unshown.noFile])
})

test('a file that takes too long', async () => {
  const file = join(folderWith({ 'gateway.yaml': slowFile }), 'gateway.yaml')

  const loaded = await loadInThread(file, {}, null, 1)

  const [printed] = print(loaded.ok ? [] : loaded.problems)
  expect(printed).toBe(unshown.slowFile.replace('30s', '0.001s'))
})

test.each([
  ['the gateway stops', new Error('the gateway is stopping'), unshown.stopping],
  [
    'a worker does not respond',
    new WorkersNotReplyingError('worker 1 (process 19) did not reply within 10s'),
    shown[4],
  ],
])('a reload while %s', async (_, error, printed) => {
  const first = sound(groups)
  const reloader = new Reloader({
    file: 'gateway.yaml',
    initial: first,
    load: async () => sound(`operations: { market.insights: { state: reject } }\n${groups}`),
    preflight: async () => [],
    apply: () => Promise.reject(error),
    onOutcome: () => {},
  })

  onTestFinished(() => reloader.close())

  const outcome = await reloader.reload('request')

  expect(outcome.result === 'rejected' ? print(outcome.problems) : outcome).toEqual([printed])
})

test('an edit whose endpoints are not there', () => {
  const { provenance } = sound(groups.replace('risk: sandbox', 'risk: http://risk-b.internal:8080'))
  const endpoints = [{ name: 'http://risk-b.internal:8080', reason: 'the endpoint refuses connections (ECONNREFUSED)' }]

  expect(
    print(unreachableProblems([{ group: 'risk', side: 'primary', endpoints }], provenance, 'gateway.yaml')),
  ).toEqual([shown[2]])
})

test('an edit whose keys are not there', () => {
  const auth =
    'auth:\n  jwt:\n    jwks: https://login.example/jwks\n    issuer: https://login.example\n    audience: [https://gateway.example]\n'
  const { provenance } = sound(`${groups}${auth}  methods: [jwt]\nclients: []\n`)

  expect(
    print([
      jwksUnavailableProblem(
        { key: 'auth.jwt', url: 'https://login.example/jwks', reason: 'it responded with 404' },
        provenance,
        'gateway.yaml',
      ),
    ]),
  ).toEqual([shown[3]])
})
