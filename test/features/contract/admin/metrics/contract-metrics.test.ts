import { expect, test } from 'vitest'
import { readExposition, total } from '../../../../core/admin/metrics/parse-exposition.ts'
import { contractFile } from '../../../../helpers/contract.ts'
import { bootLiveGateway } from '../../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

const name = 'lender_gateway_contract_messages_total'

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
    total(await read(admin), name, { operation: 'valuation.score', direction, outcome })
  await expect.poll(() => count('response', 'broken')).toBe(2)
  const outcomes = ['kept', 'broken', 'rejected', 'unchecked']
  expect(await Promise.all(outcomes.map((outcome) => count('request', outcome)))).toEqual([1, 0, 1, 1])
})

test('what is not held to the contract has no series, and what is has all of them from the start', async () => {
  const contract = { file: contractFile(), response: 'off' }
  const { admin } = await bootLiveGateway({ contract })

  const series = readExposition(await read(admin)).get(name)?.lines ?? []

  expect(series.map(({ labels, value }) => [labels.operation, labels.direction, value])).toEqual(
    ['valuation.score', 'market.insights'].flatMap((id) => Array.from({ length: 4 }, () => [id, 'request', 0])),
  )
})
