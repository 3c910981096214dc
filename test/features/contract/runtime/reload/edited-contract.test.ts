/** What an edit of the contract's files does, and what an operator reads of it: the names of the files. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Status } from '../../../../../src/core/runtime/status/status-part.ts'
import { folderWith } from '../../../../core/config/helper.ts'
import { sampleContract } from '../../../../helpers/contract.ts'
import { bootLiveGateway, fetchAdmin } from '../../../../helpers/live-gateway.ts'

const contract = (part: string) =>
  JSON.stringify({ ...sampleContract, components: { schemas: { Asset: { $ref: part } } } })

test('an edit of a file that the contract refers to is named until it is read, when it is rejected, and rolled back', async () => {
  const folder = folderWith({ 'contract.json': contract('asset.json'), 'asset.json': '{"type":"object"}' })
  const [file, part] = ['contract.json', 'asset.json'].map((name) => join(folder, name)) as [string, string]
  const live = await bootLiveGateway({ contract: { file, request: 'enforce' }, reload: { watch: false } })
  const status = async (): Promise<Status> => (await fetchAdmin(`${live.admin}/status`)).body as unknown as Status
  const reload = async () => (await fetchAdmin(`${live.admin}/reload`, 'POST')).body
  const score = async (): Promise<number> => {
    const headers = { 'Content-Type': 'application/json' }
    return (await fetch(`${live.url}/valuation/score`, { method: 'POST', headers, body: '{}' })).status
  }

  writeFileSync(join(folder, 'loan.json'), '{"type":"objekt"}')
  writeFileSync(file, contract('loan.json'))
  await reload()
  const first = await status()
  writeFileSync(file, contract('asset.json'))
  await reload()
  writeFileSync(part, '{"type":"objekt"}')
  const unread = await status()
  await reload()
  const [rejected, kept] = [await status(), await score()]
  writeFileSync(part, '{"type":"object","required":["id"]}')
  const applied = await reload()
  const [taken, unmatched] = [await status(), await score()]
  await fetchAdmin(`${live.admin}/rollback`, 'POST')
  const back = await status()

  const differs = { fileDiffers: true, differingFiles: [part] }
  expect([first, unread, rejected, taken, back].map(({ config }) => config)).toMatchObject([
    { fileDiffers: true, differingFiles: [file] }, // a file that an edit is the first to name is not named as edited
    ...[differs, differs, { fileDiffers: false, differingFiles: [] }, differs],
  ])
  const told = ({ findings }: Status) => findings.map(({ cause }) => cause).join('\n')
  expect(told(first)).toContain(`an edit of ${file} was rejected, and the running configuration stays in effect`)
  expect(told(unread)).toContain(`an edit of ${part} was not read yet; read it now with: lender-gateway reload`)
  expect(told(rejected)).toContain(
    `an edit of ${part} was rejected, and the running configuration stays in effect: ${part}:1:`,
  )
  expect(told(back)).toContain(
    `an edit of ${part} was rolled back, and a restart applies it; apply it now with: lender-gateway reload`,
  )
  expect(applied).toMatchObject({ result: 'applied', changes: [{ path: 'contract.file' }] })
  expect([kept, unmatched]).toEqual([200, 400])
})
