import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { expectGolden, runInProcess, transcript } from '../../golden/golden.ts'

type Case = readonly [name: string, method: string, target: string, file?: string]

const forwarded: readonly Case[] = [
  ['short-form', 'POST', '/lender/v1/valuation/score'],
  ['sandbox', 'POST', '/lender/v1/financing/pre-approval'],
  ['host-of-the-client', 'GET', '/lender/v1/analysis/esg-grant?grant=eu&year=2026'],
  ['every-level', 'POST', '/lender/v1/risk/asset-valuation'],
  ['ipv6', 'GET', '/lender/v1/leads/pipeline?'],
  ['no-deadline', 'GET', '/lender/v1/market/insights'],
  ['absolute-form', 'GET', 'http://api.example:8080/lender/v1/market/insights?region=eu'],
  ['built-in', 'GET', '/market/insights', 'plain.yaml'],
  ['edge', 'GET', '/market/insights', 'edge.yaml'],
  ['candidate', 'GET', '/market/insights', 'candidate.yaml'],
]

const rejected: readonly Case[] = [
  ['by-the-operator', 'POST', '/lender/v1/inventory/sync'],
  ['lower-case-method', 'get', '/lender/v1/market/insights'],
  ['unknown-method', 'BREW', '/lender/v1/market/insights'],
  ['wrong-method', 'GET', '/lender/v1/valuation/score'],
  ['head', 'HEAD', '/lender/v1/market/insights'],
  ['connect', 'CONNECT', 'api.example:443'],
  ['asterisk', 'OPTIONS', '*'],
  ['alias', 'POST', '/lender/v1/%76aluation/sc%6Fre'],
  ['alias-twofold', 'POST', '/lender/v1/%2576aluation/score'],
  ['escaped-slash', 'GET', '/lender/v1/market%2Finsights'],
  ['escaped-query', 'GET', '/lender/v1/market/insights%3Fregion=eu'],
  ['query-without-mark', 'GET', '/lender/v1/market/insights&region=eu'],
  ['case', 'GET', '/lender/v1/Market/Insights'],
  ['trailing-slash', 'GET', '/lender/v1/market/insights/'],
  ['doubled-slash', 'GET', '/lender/v1//market/insights'],
  ['dot-segment', 'GET', '/lender/v1/leads/../market/insights'],
  ['parameter', 'GET', '/lender/v1/market;v=2/insights'],
  ['backslash', 'GET', '/lender/v1/market\\insights'],
  ['base-path-alias', 'POST', '//%6cender/v1/valuation/score'],
  ['base-path-missing', 'POST', '/valuation/score'],
  ['base-path-superfluous', 'POST', '/lender/v1/valuation/score', 'plain.yaml'],
  ['base-path-other', 'POST', '/lender/v2/valuation/score'],
  ['base-path-twice', 'POST', '/lender/v1/lender/v1/valuation/score'],
  ['below', 'GET', '/lender/v1/market/insights/eu'],
  ['misspelt', 'GET', '/lender/v1/market/insight'],
  ['several-at-once', 'get', '/lender/v1/%6darket//Insigths/?a=1'],
  ['path-and-method', 'GET', '/lender/v1/valuation/score/'],
  ['far', 'GET', '/lender/v1/health'],
  ['root', 'GET', '/'],
  ['too-long', 'GET', `/lender/v1/market/insights?${'a'.repeat(120)}`],
  ['fragment', 'GET', '/lender/v1/market/insights#top'],
  ['user-name', 'GET', 'http://user:password@api.example/lender/v1/market/insights'],
  ['other-scheme', 'GET', 'ftp://api.example/lender/v1/market/insights'],
  ['no-host', 'GET', 'http:///lender/v1/market/insights'],
  ['no-slash', 'GET', 'lender/v1/market/insights'],
  ['id-for-path', 'GET', 'market.insights'],
  ['blank', 'GET', '/lender/v1/market insights'],
  ['beyond-ascii', 'GET', '/lender/v1/märket/insights'],
  ['control-character', 'GET', '/lender/v1/market/insights\u001b[31m'],
  ['smuggled-line', 'GET', '/lender/v1/market/insights HTTP/1.1\r\nHost: a\r\n\r\nGET /lender/v1/leads/pipeline'],
]

const argsOf = ([, method, target, file = 'gateway.yaml']: Case): readonly string[] => [
  'explain',
  method,
  target,
  '--config',
  file,
]

describe.each([
  ['forwarded', forwarded, 0],
  ['refused', rejected, 1],
] as const)('explain of what is %s prints what its golden file says', (verdict, cases, code) => {
  test.each(cases.map((each) => [each[0], each] as const))('%s', async (name, each) => {
    const args = argsOf(each)

    const ran = await runInProcess(...args)

    expect(ran.code).toBe(code)
    expectGolden(`explain-${verdict}-${name}.txt`, transcript(args, ran))
  })
})

const asJson: readonly Case[] = [
  ['every-level', 'POST', '/lender/v1/risk/asset-valuation'],
  ['by-the-operator', 'POST', '/lender/v1/inventory/sync'],
  ['alias', 'POST', '/lender/v1/%76aluation/sc%6Fre'],
  ['wrong-method', 'HEAD', '/lender/v1/valuation/score'],
  ['broken-file', 'POST', '/lender/v1/valuation/score', 'broken-tab.yaml'],
]

test.each(asJson.map((each) => ({ name: each[0], each })))('$name as JSON', async ({ each }) => {
  const [name, method, target, file = 'gateway.yaml'] = each

  const { out } = await runInProcess('explain', method, target, '--config', file, '--format', 'json')

  expect(JSON.parse(out)).toMatchObject({ method, target, file })
  expectGolden(`explain-${name}.json`, out)
})

test.each<[file: string, code: number]>([
  ['broken-tab.yaml', 1],
  ['missing.yaml', 2],
])('explain with %s prints the problems', async (file, code) => {
  const args = ['explain', 'GET', '/market/insights', '--config', file]

  const ran = await runInProcess(...args)

  expect(ran.code).toBe(code)
  expectGolden(`explain-with-${file.replace('.yaml', '.txt')}`, transcript(args, ran))
})

test('no golden file shows a secret or a path of a machine', () => {
  const folder = fileURLToPath(new URL('../../golden/', import.meta.url))
  const golden = readdirSync(folder).filter((name) => /\.(txt|json)$/.test(name))

  const leaking = golden.filter((name) =>
    /a-secret-of|from-outside|\/(home|work|tmp|root|usr)\//.test(readFileSync(`${folder}${name}`, 'utf8')),
  )

  expect(leaking).toEqual([])
  expect(golden.length).toBeGreaterThan(50)
})
