/** What an edit of the contract's files does, and what an operator reads of it: the names of the files. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Status } from '../../../../../src/core/runtime/status/status-part.ts'
import { folderWith } from '../../../../core/config/helper.ts'
import { sampleContract } from '../../../../helpers/contract.ts'
import { withoutLateness } from '../../../../helpers/findings.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../../helpers/live-gateway.ts'

const contract = (part: string) =>
  JSON.stringify({ ...sampleContract, components: { schemas: { Asset: { $ref: part } } } })

/** Boots a gateway with an enforced contract in two files, which it reads on request alone. */
const bootWithContract = async () => {
  const folder = folderWith({ 'contract.json': contract('asset.json'), 'asset.json': '{"type":"object"}' })
  const file = join(folder, 'contract.json')
  const live = await bootLiveGateway({ contract: { file, request: 'enforce' }, reload: { watch: false } })
  return { live, file, part: join(folder, 'asset.json'), loan: join(folder, 'loan.json') }
}

const status = async ({ admin }: LiveGateway): Promise<Status> =>
  (await fetchAdmin(`${admin}/status`)).body as unknown as Status

const score = async ({ url }: LiveGateway): Promise<number> => {
  const headers = { 'Content-Type': 'application/json' }
  return (await fetch(`${url}/valuation/score`, { method: 'POST', headers, body: '{}' })).status
}

test('an edit of a file that the contract refers to is named until it is read, when it is refused, and rolled back', async () => {
  const { live, file, part, loan } = await bootWithContract()

  writeFileSync(loan, '{"type":"objekt"}')
  writeFileSync(file, contract('loan.json'))
  await live.gateway.reload('request')
  const first = await status(live)
  writeFileSync(file, contract('asset.json'))
  await live.gateway.reload('request')
  writeFileSync(part, '{"type":"objekt"}')
  const unread = await status(live)
  await live.gateway.reload('request')
  const [refused, kept] = [await status(live), await score(live)]
  writeFileSync(part, '{"type":"object","required":["id"]}')
  const { body } = await fetchAdmin(`${live.admin}/reload`, 'POST')
  const [taken, rejected] = [await status(live), await score(live)]
  await fetchAdmin(`${live.admin}/rollback`, 'POST')
  const back = await status(live)

  // A file that an edit is the first to name is not named as edited.
  expect(first.config).toMatchObject({ fileDiffers: true, differingFiles: [file] })
  expect(withoutLateness(first.findings)[0]?.cause).toContain(
    `an edit of ${file} was refused, and what ran before runs on`,
  )
  expect([unread, refused, taken, back].map(({ config }) => config)).toMatchObject([
    { fileDiffers: true, differingFiles: [part] },
    { fileDiffers: true, differingFiles: [part] },
    { fileDiffers: false, differingFiles: [] },
    { fileDiffers: true, differingFiles: [part] },
  ])
  expect(unread.findings.map(({ cause }) => cause)).toContain(
    `an edit of ${part} was not read yet, and reload reads it`,
  )
  expect(withoutLateness(refused.findings)[0]?.cause).toContain(
    `an edit of ${part} was refused, and what ran before runs on: ${part}:1:`,
  )
  expect(body).toMatchObject({ result: 'applied', changes: [{ path: 'contract.file' }] })
  expect([kept, rejected]).toEqual([200, 400])
  expect(back.findings.map(({ cause }) => cause)).toContain(
    `an edit of ${part} was rolled back, and reload takes it again`,
  )
})
