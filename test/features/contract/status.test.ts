/** What /contract says, over real sockets. */
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readExposition, total } from '../../core/admin/metrics/parse-exposition.ts'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { contractFile, sampleContract } from '../../helpers/contract.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const boot = async (contract: Readonly<Record<string, unknown>> = {}) => {
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json'])
    response.end('{"grade":"Z"}')
  })
  const settings = { upstream: upstream.url, contract: { file: contractFile(), ...contract } }
  const live = await bootLiveGateway(settings)
  return { live, upstream, settings }
}

const post = (url: string, body: string, requestId = 'r-1'): Promise<Response> =>
  fetch(`${url}/valuation/score`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Request-Id': requestId },
    body,
  })

const reportOf = async (admin: string) => (await fetchAdmin(`${admin}/contract`)).body
const rowsOf = async (admin: string): Promise<readonly unknown[]> => (await reportOf(admin)).rows as never

test('it says where messages break the contract, and which request to look for', async () => {
  const { live, upstream, settings } = await boot({ request: 'enforce' })

  const ok = await post(live.url, '{"id":"a"}')
  const rejected = await post(live.url, '{"id":7,"a secret name":"a secret value"}', 'r-2')

  expect([ok.status, rejected.status]).toEqual([200, 400])
  await expect.poll(() => rowsOf(live.admin)).toHaveLength(2)
  const { at: _, ...report } = await reportOf(live.admin)
  const time = expect.stringMatching(/^\d{4}-.*Z$/)
  const counts = {
    rejected: 0,
    unchecked: { 'too-large': 0, coded: 0, 'not-json': 0, partial: 0, 'too-complex': 0, busy: 0 },
  }
  expect(report).toMatchObject({
    contract: {
      file: settings.contract.file,
      digest: expect.stringMatching(/^[0-9a-f]{12}$/),
      operations: {
        'valuation.score': {
          line: expect.any(Number),
          request: { ...counts, mode: 'enforce', checked: 2, broken: 1, rejected: 1 },
          response: { ...counts, mode: 'report', checked: 1, broken: 1 },
        },
        'leads.pipeline': { line: null, request: { ...counts, mode: 'enforce', checked: 0, broken: 0 } },
      },
    },
    recent: [
      { operation: 'valuation.score', direction: 'request', endpoint: null, checked: 2, broken: 1, brokenSince: time },
      {
        ...{ operation: 'valuation.score', direction: 'response', endpoint: upstream.url },
        ...{ checked: 1, broken: 1, brokenSince: time },
      },
    ],
    rows: expect.arrayContaining([
      {
        ...{ operation: 'valuation.score', direction: 'request', pointer: '/id', in: 'body', rule: 'type' },
        ...{ detail: 'must be string', count: 1, recent: 1, firstAt: time, lastAt: time },
        ...{ client: '127.0.0.1', endpoint: null, requestId: 'r-2' },
      },
      {
        ...{ operation: 'valuation.score', direction: 'response', pointer: '/grade', in: 'body', rule: 'pattern' },
        ...{ detail: 'must match pattern "^[A-F]$"', count: 1, recent: 1, firstAt: time, lastAt: time },
        ...{ client: '127.0.0.1', endpoint: upstream.url, requestId: 'r-1' },
      },
    ]),
    others: 0,
  })
  expect(JSON.stringify(report)).not.toContain('secret')
})

test('without a contract it says that there is none', async () => {
  const live = await bootLiveGateway()

  const { at: _, ...report } = await reportOf(live.admin)

  expect(report).toEqual({ contract: null, differingFiles: [], learning: null, recent: [], rows: [], others: 0 })
})

test('the counts outlive a reload of anything but the contract, and begin anew with another one', async () => {
  const { live, settings } = await boot()
  await (await post(live.url, '{"id":"a"}')).text()
  await expect.poll(() => rowsOf(live.admin)).toHaveLength(1)
  const reload = async (): Promise<number> => (await fetchAdmin(`${live.admin}/reload`, 'POST')).status

  live.edit({ ...settings, defaults: { deadline: '7s' } })
  const afterEdit = [await reload(), (await rowsOf(live.admin)).length]
  writeFileSync(settings.contract.file, JSON.stringify({ ...sampleContract, info: { title: 'b', version: '2' } }))
  const afterContract = [await reload(), await rowsOf(live.admin)]

  expect(afterEdit).toEqual([200, 1])
  expect(afterContract).toEqual([200, []])
  await (await post(live.url, '{"id":"a"}')).text()
  await expect.poll(() => rowsOf(live.admin)).toHaveLength(1)
})

const metric = 'lender_gateway_contract_messages_total'

const read = async (admin: string): Promise<string> => (await fetch(`${admin}/metrics`)).text()

test('each message that is held to the contract is one of four outcomes', async () => {
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json'])
    response.end('{"grade":"Z"}')
  })
  const contract = { file: contractFile(), request: 'enforce' }
  const { url, admin } = await bootLiveGateway({ upstream: upstream.url, contract })
  const post = async (body: string, fields: Readonly<Record<string, string>> = {}): Promise<number> => {
    const headers = { 'Content-Type': 'application/json', ...fields }
    return (await fetch(`${url}/valuation/score`, { method: 'POST', headers, body })).status
  }

  const statuses = [await post('{"id":"a"}'), await post('{"id":7}'), await post('?', { 'Content-Encoding': 'gzip' })]

  expect(statuses).toEqual([200, 400, 200])
  const count = async (direction: string, outcome: string): Promise<number> =>
    total(await read(admin), metric, { operation: 'valuation.score', direction, outcome })
  await expect.poll(() => count('response', 'broken')).toBe(2)
  const outcomes = ['kept', 'broken', 'rejected', 'unchecked']
  expect(await Promise.all(outcomes.map((outcome) => count('request', outcome)))).toEqual([1, 0, 1, 1])
})

test('what is not held to the contract has no series, and what is has all of them from the start', async () => {
  const contract = { file: contractFile(), response: 'off' }
  const { admin } = await bootLiveGateway({ contract })

  const series = readExposition(await read(admin)).get(metric)?.lines ?? []

  expect(series.map(({ labels, value }) => [labels.operation, labels.direction, value])).toEqual(
    ['valuation.score', 'market.insights'].flatMap((id) => Array.from({ length: 4 }, () => [id, 'request', 0])),
  )
})

test('operations that the contract leaves out are one line of status, of the page, and of contract report', async () => {
  const warning = '7 of the nine are not in the contract: nothing of them is checked'
  const live = await bootLiveGateway({ contract: { file: contractFile() } })

  const status = await runCommand(['status', '--admin', live.admin])
  const report = await runCommand(['contract', 'report', '--admin', live.admin])
  const page = await (await fetch(live.admin)).text()

  const about = (out: string, pattern: RegExp) => out.split('\n').filter((line) => pattern.test(line))
  expect(about(status.out, /not in the contract|does not name|NOT CHECKED|inventory\.sync/)).toEqual([
    expect.stringMatching(new RegExp(`^warning: \\S+ paths: ${warning}$`)),
  ])
  expect(page.split(warning)).toHaveLength(2)
  expect(about(report.out, /inventory\.sync/)).toEqual([
    expect.stringMatching(/^NOT CHECKED, since the contract does not name them: .*financing\.pre-approval, /),
  ])
})
