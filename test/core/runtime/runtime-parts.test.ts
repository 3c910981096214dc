import { expect, test } from 'vitest'
import { aloneProcess } from '../../../src/core/runtime/channel.ts'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import type { ProcessPart } from '../../../src/core/runtime/runtime-part.ts'
import { listUsedParts, openParts, prepareParts } from '../../../src/core/runtime/runtime-parts.ts'
import { type Settings, testConfig } from '../../helpers/gateway.ts'

const upstream = 'http://upstream.invalid'
const process = { place: aloneProcess, digestKey: '', log: null, logEvent: () => {} }

/** Opens what the settings need in a process that has these open already. */
const reload = async (settings: Settings, opened: Record<string, ProcessPart>): Promise<readonly string[]> => {
  const input = { config: testConfig({ upstream, ...settings }), overrides: new Overrides(), sandboxOrigin: null }
  await prepareParts(input)
  const before = Object.keys(opened)
  openParts(process, listUsedParts(input), opened)
  return Object.keys(opened).filter((name) => !before.includes(name))
}

test('the part of a feature is loaded with the first configuration that turns it on, with those it runs with, and stays', async () => {
  const opened: Record<string, ProcessPart> = {}
  const cached = { operations: { 'market.insights': { cache: true } } }

  expect(await reload({}, opened)).toEqual(['retry', 'redis', 'limits', 'tail'])
  expect(await reload(cached, opened)).toEqual(['cache'])
  expect(await reload({ contract: { learn: true } }, opened)).toEqual(['contract', 'contract-learning'])
  expect(await reload({}, opened)).toEqual([])
  expect(Object.keys(opened)).toHaveLength(7)
})
