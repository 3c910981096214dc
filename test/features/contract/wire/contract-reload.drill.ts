/** What an edit of the contract's files does to a gateway that watches them, and to one of several workers. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith } from '../../../core/config/helper.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { startWorkerGateway } from '../../../helpers/worker-gateway.ts'
import { insights } from '../compile/loading.ts'

const parts = (maximum: number): string => `limit: { type: integer, maximum: ${maximum} }\n`

const writeContract = () => {
  const parameters = [{ name: 'limit', in: 'query', schema: { $ref: 'parts.yaml#/limit' } }]
  const folder = folderWith({ 'contract.json': JSON.stringify(insights({ parameters })), 'parts.yaml': parts(10) })
  return {
    contract: { file: join(folder, 'contract.json'), request: 'enforce' },
    edit: () => writeFileSync(join(folder, 'parts.yaml'), parts(100)),
  }
}

test('an edit of a file that the contract refers to takes effect where the file is watched', async () => {
  const { contract, edit } = writeContract()
  const live = await bootLiveGateway({ contract, reload: { watch: true, poll: '1s' } })
  const status = async () => (await fetch(`${live.url}/market/insights?limit=50`)).status

  expect(await status()).toBe(400)
  edit()
  await expect.poll(status).toBe(200)
})

test('every worker checks by the contract of the last reload', async () => {
  const { contract, edit } = writeContract()
  const gateway = await startWorkerGateway({ workers: 2, contract })
  onTestFinished(() => gateway.stop())
  // A connection each: the workers take turns.
  const ask = async () => {
    const url = `http://127.0.0.1:${gateway.port}/market/insights?limit=50`
    const response = await fetch(url, { headers: { Connection: 'close' } })
    await response.arrayBuffer()
    return response.status
  }
  const statuses = async () => new Set(await Promise.all(Array.from({ length: 8 }, ask)))

  expect(await statuses()).toEqual(new Set([400]))
  edit()
  expect((await gateway.ask('POST', '/reload')).status).toBe(200)
  expect(await statuses()).toEqual(new Set([200]))
})
