/** What an operator reads of an edit of the contract, or of a file that it refers to: their names. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Status } from '../../../../../src/core/runtime/status/status-part.ts'
import { sampleContract } from '../../../../helpers/contract.ts'
import { withoutLateness } from '../../../../helpers/findings.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../../helpers/live-gateway.ts'

/** Boots a gateway with a contract in two files, which it reads on request alone. */
const bootWithContract = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'contract-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [file, part] = [join(folder, 'contract.json'), join(folder, 'asset.json')]
  const schemas = { Asset: { $ref: 'asset.json' } }
  writeFileSync(file, JSON.stringify({ ...sampleContract, components: { schemas } }))
  writeFileSync(part, '{"type":"object"}')
  return { folder, file, part, live: await bootLiveGateway({ contract: { file }, reload: { watch: false } }) }
}

const status = async ({ admin }: LiveGateway): Promise<Status> =>
  (await fetchAdmin(`${admin}/status`)).body as unknown as Status

test('an edit of the contract that was not read yet is named', async () => {
  const { live, file } = await bootWithContract()

  writeFileSync(file, JSON.stringify({ ...sampleContract, paths: {} }))

  const { findings, config } = await status(live)
  expect(config).toMatchObject({ fileDiffers: true, differingFiles: [file] })
  expect(findings.map(({ cause }) => cause)).toContain(`an edit of ${file} was not read yet, and reload reads it`)
})

test('an edit of a file that the contract refers to is named when it was refused', async () => {
  const { live, part } = await bootWithContract()

  writeFileSync(part, '{"type":"objekt"}')
  await live.gateway.reload('request')

  const { findings, config } = await status(live)
  expect(config).toMatchObject({ fileDiffers: true, differingFiles: [part] })
  expect(withoutLateness(findings)[0]?.cause).toContain(
    `an edit of ${part} was refused, and what ran before runs on: ${part}:1:`,
  )
})

test('an edit that was rolled back is named, and one that was taken is not', async () => {
  const { live, part } = await bootWithContract()

  writeFileSync(part, '{"type":"object","required":["id"]}')
  await live.gateway.reload('request')
  const taken = await status(live)
  await fetchAdmin(`${live.admin}/rollback`, 'POST')

  const { findings, config } = await status(live)
  expect(taken.config).toMatchObject({ fileDiffers: false, differingFiles: [] })
  expect(config).toMatchObject({ fileDiffers: true, differingFiles: [part] })
  expect(findings.map(({ cause }) => cause)).toContain(`an edit of ${part} was rolled back, and reload takes it again`)
})

test('a file that an edit is the first to name is not named as edited', async () => {
  const { folder, live, file } = await bootWithContract()
  const schemas = { Asset: { $ref: 'loan.json' } } // which the nine lead to: a mistake elsewhere is a warning

  writeFileSync(join(folder, 'loan.json'), '{"type":"objekt"}')
  writeFileSync(file, JSON.stringify({ ...sampleContract, components: { schemas } }))
  await live.gateway.reload('request')

  const { findings, config } = await status(live)
  expect(config).toMatchObject({ fileDiffers: true, differingFiles: [file] })
  expect(withoutLateness(findings)[0]?.cause).toContain(`an edit of ${file} was refused, and what ran before runs on`)
})
