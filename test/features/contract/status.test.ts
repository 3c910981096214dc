/** What /contract says, over real sockets. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readExposition, total } from '../../core/admin/metrics/parse-exposition.ts'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { contractFile, sampleContract } from '../../helpers/contract.ts'
import { respondJson } from '../../helpers/json-responder.ts'
import { bootLiveGateway, fetchAdmin, liveGatewayForAll } from '../../helpers/live-gateway.ts'

const contract = { file: contractFile(sampleContract, afterAll), request: 'enforce' }
const shared = liveGatewayForAll({ contract })
beforeAll(() => shared.respondWith(respondJson('{"grade":"Z"}')))

const postScore = async (body: string, fields: Readonly<Record<string, string>> = {}): Promise<number> => {
  const headers = { 'Content-Type': 'application/json', ...fields }
  return (await fetch(`${shared.live.url}/valuation/score`, { method: 'POST', headers, body })).status
}
const reportOf = async (admin: string) => (await fetchAdmin(`${admin}/contract`)).body
const rowsNow = async (): Promise<readonly unknown[]> => (await reportOf(shared.live.admin)).rows as never

const metric = 'lender_gateway_contract_messages_total'
const metricsOf = async (admin: string): Promise<string> => (await fetch(`${admin}/metrics`)).text()

test('operations that the contract leaves out are one line of status, of the page, and of contract report', async () => {
  const warning = '7 of the nine are not in the contract: nothing of them is checked'
  const { admin } = shared.live

  const status = await runCommand(['status', '--admin', admin])
  const report = await runCommand(['contract', 'report', '--admin', admin])
  const page = await (await fetch(admin)).text()

  const about = (out: string, pattern: RegExp) => out.split('\n').filter((line) => pattern.test(line))
  expect(about(status.out, /not in the contract|does not name|NOT CHECKED|inventory\.sync/)).toEqual([
    expect.stringMatching(new RegExp(`^warning: \\S+ paths: ${warning}$`)),
  ])
  expect(page.split(warning)).toHaveLength(2)
  expect(about(report.out, /inventory\.sync/)).toEqual([
    expect.stringMatching(/^NOT CHECKED, since the contract does not name them: .*financing\.pre-approval, /),
  ])
})

test('the contract report has the place and a request id of each violation; each message has one of four outcomes', async () => {
  const ok = await postScore('{"id":"a"}', { 'X-Request-Id': 'r-1' })
  const rejected = await postScore('{"id":7,"a secret name":"a secret value"}', { 'X-Request-Id': 'r-2' })

  expect([ok, rejected]).toEqual([200, 400])
  await expect.poll(rowsNow).toHaveLength(2)
  const { at: _, ...report } = await reportOf(shared.live.admin)
  const time = expect.stringMatching(/^\d{4}-.*Z$/)
  const unchecked = { 'too-large': 0, coded: 0, 'not-json': 0, partial: 0, 'too-complex': 0, busy: 0 }
  const request = { mode: 'enforce', checked: 2, broken: 1, rejected: 1, unchecked }
  const response = { mode: 'report', checked: 1, broken: 1, rejected: 0, unchecked }
  const times = { count: 1, recent: 1, firstAt: time, lastAt: time, client: '127.0.0.1' }
  const ofScore = { operation: 'valuation.score', checked: 2, broken: 1, brokenSince: time }
  expect(report).toMatchObject({
    contract: {
      file: contract.file,
      digest: expect.stringMatching(/^[0-9a-f]{12}$/),
      operations: {
        'valuation.score': { line: expect.any(Number), request, response },
        'leads.pipeline': { line: null, request: { ...request, checked: 0, broken: 0, rejected: 0 } },
      },
    },
    recent: [
      { ...ofScore, direction: 'request', endpoint: null },
      { ...ofScore, direction: 'response', endpoint: shared.upstream, checked: 1 },
    ],
    rows: expect.arrayContaining([
      {
        ...{ operation: 'valuation.score', direction: 'request', pointer: '/id', in: 'body', rule: 'type' },
        ...{ detail: 'must be string', ...times, endpoint: null, requestId: 'r-2' },
      },
      {
        ...{ operation: 'valuation.score', direction: 'response', pointer: '/grade', in: 'body', rule: 'pattern' },
        ...{ detail: 'must match pattern "^[A-F]$"', ...times, endpoint: shared.upstream, requestId: 'r-1' },
      },
    ]),
    others: 0,
  })
  expect(JSON.stringify(report)).not.toContain('secret')

  expect(await postScore('?', { 'Content-Encoding': 'gzip' })).toBe(200)
  const count = async (direction: string, outcome: string): Promise<number> =>
    total(await metricsOf(shared.live.admin), metric, { operation: 'valuation.score', direction, outcome })
  await expect.poll(() => count('response', 'broken')).toBe(2)
  const outcomes = ['kept', 'broken', 'rejected', 'unchecked']
  expect(await Promise.all(outcomes.map((outcome) => count('request', outcome)))).toEqual([1, 0, 1, 1])
})

test('counts survive a reload of another key, and restart with another contract', async () => {
  const { live, upstream } = shared
  const reload = async (): Promise<number> => (await fetchAdmin(`${live.admin}/reload`, 'POST')).status

  live.edit({ upstream, contract, defaults: { deadline: '7s' } })
  const afterEdit = [await reload(), (await rowsNow()).length]
  writeFileSync(contract.file, JSON.stringify({ ...sampleContract, info: { title: 'b', version: '2' } }))
  const afterContract = [await reload(), await rowsNow()]

  expect(afterEdit).toEqual([200, 2])
  expect(afterContract).toEqual([200, []])
  await postScore('{"id":"a"}')
  await expect.poll(rowsNow).toHaveLength(1)
})

test('the contract report says that no contract is configured', async () => {
  const { at: _, ...report } = await reportOf((await bootLiveGateway()).admin)

  expect(report).toEqual({ contract: null, differingFiles: [], learning: null, recent: [], rows: [], others: 0 })
})

test('a checked operation has all its series from the start, and an unchecked one has none', async () => {
  const { admin } = await bootLiveGateway({ contract: { file: contractFile(), response: 'off' } })
  const series = readExposition(await metricsOf(admin)).get(metric)?.lines ?? []

  expect(series.map(({ labels, value }) => [labels.operation, labels.direction, value])).toEqual(
    ['valuation.score', 'market.insights'].flatMap((id) => Array.from({ length: 4 }, () => [id, 'request', 0])),
  )
})
