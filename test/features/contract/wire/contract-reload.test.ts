/** What an edit of the contract's files does to a gateway that serves, over real sockets. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { folderWith } from '../../../core/config/helper.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { startWorkerGateway } from '../../../helpers/worker-gateway.ts'

const contract = `
openapi: 3.1.1
info: { title: test, version: '1' }
paths:
  /market/insights:
    get:
      parameters: [{ name: limit, in: query, schema: { $ref: parts.yaml#/limit } }]
      responses: { '200': { description: insights } }
`
const parts = (maximum: number | string): string => `limit: { type: integer, maximum: ${maximum} }\n`

const boot = async (settings: object = {}) => {
  const upstream = await httpUpstream((_, response) => void response.end('{}'))
  const folder = folderWith({ 'contract.yaml': contract, 'parts.yaml': parts(10) })
  const live = await bootLiveGateway({
    upstream: upstream.url,
    contract: { file: join(folder, 'contract.yaml'), request: 'enforce' },
    ...settings,
  })
  return {
    live,
    statusOf: async (limit: number) => (await fetch(`${live.url}/market/insights?limit=${limit}`)).status,
    write: (name: string, text: string) => writeFileSync(join(folder, name), text),
  }
}

const patience = { timeout: 30_000 }

describe('with a watched file', () => {
  test('an edit of a file that the contract refers to takes effect; a broken one keeps the last good one', async () => {
    const { live, statusOf, write } = await boot({ reload: { watch: true, poll: '1s' } })
    const before = await statusOf(50)

    write('parts.yaml', parts(100))
    await expect.poll(() => statusOf(50), patience).toBe(200)
    write('parts.yaml', parts('many'))
    const problem = await live.line(({ msg }) => msg === 'configuration problem')

    expect(before).toBe(400)
    expect([await statusOf(50), await statusOf(101)]).toEqual([200, 400])
    expect(problem).toMatchObject({ line: 1, path: 'limit.maximum', expected: 'number' })
    expect(problem.file).toMatch(/\/parts\.yaml$/)
    write('parts.yaml', parts(200))
    await expect.poll(() => statusOf(101), patience).toBe(200)
  })
})

test('POST /reload says that the contract has changed', async () => {
  const { live, statusOf, write } = await boot()

  write('contract.yaml', `${contract.replace('integer', 'string')}# another digest\n`)
  write('parts.yaml', parts(100))
  const { body } = await fetchAdmin(`${live.admin}/reload`, 'POST')

  expect(await statusOf(50)).toBe(200)
  expect(body).toMatchObject({ result: 'applied', changes: [{ path: 'contract.file' }] })
})

test('every worker checks by the contract of the last reload', async () => {
  const folder = folderWith({ 'contract.yaml': contract, 'parts.yaml': parts(10) })
  const settings = { workers: 2, contract: { file: join(folder, 'contract.yaml'), request: 'enforce' } }
  const gateway = await startWorkerGateway(settings)
  onTestFinished(() => gateway.stop())
  // A connection each: the workers take turns.
  const statuses = async () =>
    new Set(
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          const response = await fetch(`http://127.0.0.1:${gateway.port}/market/insights?limit=50`, {
            headers: { Connection: 'close' },
          })
          await response.arrayBuffer()
          return response.status
        }),
      ),
    )
  const before = await statuses()

  writeFileSync(join(folder, 'parts.yaml'), parts(100))
  const reload = await gateway.ask('POST', '/reload')

  expect(before).toEqual(new Set([400]))
  expect(reload.status).toBe(200)
  expect(await statuses()).toEqual(new Set([200]))
})
