import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { loadContract } from '../../../../../src/features/contract/compile/load-contract.ts'
import { jsonResponse, runCommand, scriptedAdmin } from '../../../../core/cli/scripted-admin.ts'
import { bootLiveGateway } from '../../../../helpers/live-gateway.ts'

const contract = (admin: string, ...args: readonly string[]) => runCommand(['contract', ...args, '--admin', admin])

test('the contract is learned, shown to be, stopped and printed as a file', async () => {
  const live = await bootLiveGateway()
  const none = await contract(live.admin, 'draft')
  const learned = await contract(live.admin, 'learn', '--for', '2h', '--enums')
  await (await fetch(`${live.url}/market/insights?limit=1`)).arrayBuffer()
  const report = await contract(live.admin, 'report')
  const status = await runCommand(['status', '--admin', live.admin])
  const where = ['--config', live.file, '--admin', live.admin]
  const explained = await runCommand(['explain', 'GET', '/market/insights', '--live', ...where])
  const json = await vi.waitFor(async () => {
    const drawn = await contract(live.admin, 'draft', '--format', 'json')
    expect(drawn.code).toBe(0)
    return JSON.parse(drawn.out)
  }, 30_000)

  const stopped = await contract(live.admin, 'learn', '--stop')
  const again = await contract(live.admin, 'learn', '--stop')
  const file = join(live.folder, 'contract.yaml')
  const written = await contract(live.admin, 'draft', '--output', file)
  const printed = await contract(live.admin, 'draft')
  const piped = await contract(live.admin, 'draft', '--output', '-')

  expect(none).toMatchObject({ code: 1, out: '', err: expect.stringContaining('nothing was learned: ') })
  const out = expect.stringMatching(/^the contract is learned again until .*Z\n$/)
  expect(learned).toMatchObject({ code: 0, err: '', out })
  const shown = /the contract is learned, with enumerations, by 127.0.0.1 until .*: contract draft prints it/
  for (const { out } of [report, status, explained]) expect(out).toMatch(shown)
  expect(stopped).toMatchObject({ code: 0, out: 'the contract is not learned any more; the draft stays\n' })
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('no contract is learned now') })
  expect(json.paths['/market/insights'].get['x-seen']).toBe('1 of 1')
  expect(written).toMatchObject({ code: 0, err: '', out: expect.stringContaining(`${file}: written; `) })
  expect(printed.out).toContain('x-seen: 1 of 1')
  expect(readFileSync(file, 'utf8')).toBe(printed.out)
  expect(piped).toEqual(printed)
  expect(loadContract(live.folder, 'contract.yaml').problems).toEqual([])
})

test('a draft takes the place of no file unless it is forced, and a failure leaves the file as it is', async () => {
  const live = await bootLiveGateway()
  const file = join(live.folder, 'contract.yaml')
  const files = () => readdirSync(live.folder).sort()
  writeFileSync(file, 'precious')
  const before = files()
  const draft = (...args: readonly string[]) => contract(live.admin, 'draft', '--output', ...args)

  const empty = await draft(file, '--force')
  await contract(live.admin, 'learn')
  await (await fetch(`${live.url}/market/insights?limit=1`)).arrayBuffer()
  const there = await vi.waitFor(async () => {
    const result = await draft(file)
    expect(result.code).toBe(2)
    return result
  }, 30_000)
  const nowhere = await draft(join(live.folder, 'no', 'contract.yaml'))

  expect(empty).toMatchObject({ code: 1, out: '', err: expect.stringContaining('nothing was learned') })
  expect(there).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--force overwrites it') })
  expect(nowhere).toMatchObject({ code: 2, out: '', err: expect.stringContaining('(ENOENT)') })
  expect([readFileSync(file, 'utf8'), files()]).toEqual(['precious', before])
  expect((await draft(file, '--force')).code).toBe(0)
  expect([readFileSync(file, 'utf8'), files()]).toEqual([expect.stringContaining('openapi: '), before])
})

test('the response of another server is no draft, and no file is written', async () => {
  const live = await bootLiveGateway()
  const admin = await scriptedAdmin(jsonResponse({ ok: true }))
  const before = readdirSync(live.folder)

  const { code, out, err } = await contract(admin.url, 'draft', '--output', join(live.folder, 'contract.yaml'))

  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain('responds in a form that this version does not know: text is expected at openapi')
  expect(readdirSync(live.folder)).toEqual(before)
})
