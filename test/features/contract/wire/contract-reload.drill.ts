/** What an edit of the contract's files does to a gateway that watches them, and to one of several workers. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith } from '../../../core/config/helper.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
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
const parts = (maximum: number): string => `limit: { type: integer, maximum: ${maximum} }\n`

const writeContract = () => {
  const folder = folderWith({ 'contract.yaml': contract, 'parts.yaml': parts(10) })
  return {
    settings: { contract: { file: join(folder, 'contract.yaml'), request: 'enforce' } },
    edit: () => writeFileSync(join(folder, 'parts.yaml'), parts(100)),
  }
}

test('an edit of a file that the contract refers to takes effect where the file is watched', async () => {
  const { settings, edit } = writeContract()
  const live = await bootLiveGateway({ ...settings, reload: { watch: true, poll: '1s' } })
  const status = async () => (await fetch(`${live.url}/market/insights?limit=50`)).status
  const before = await status()

  edit()

  await expect.poll(status).toBe(200)
  expect(before).toBe(400)
})

test('every worker checks by the contract of the last reload', async () => {
  const { settings, edit } = writeContract()
  const gateway = await startWorkerGateway({ workers: 2, ...settings })
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

  edit()
  const reload = await gateway.ask('POST', '/reload')

  expect(before).toEqual(new Set([400]))
  expect(reload.status).toBe(200)
  expect(await statuses()).toEqual(new Set([200]))
})
