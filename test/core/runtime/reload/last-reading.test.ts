import { expect, test } from 'vitest'
import type { LoadedConfig, LoadResult } from '../../../../src/core/config/load/load.ts'
import { LastReading } from '../../../../src/core/runtime/reload/last-reading.ts'

const source = (file: string, digest: string) => ({ file, digest, limit: 1 })

const initial = {
  sources: [source('/gateway.yaml', 'a'), source('/clients.yaml', 'b')],
  config: { hash: 'runs' },
} as unknown as LoadedConfig

const failed = { ok: false, problems: [], unreadable: false, sources: [source('/gateway.yaml', 'c')] } as const

const readAgain = async (result: LoadResult): Promise<readonly string[]> => {
  const reading = new LastReading('/gateway.yaml', initial, async () => result)
  await reading.repeat()
  return reading.sources.map(({ file, digest }) => `${file} ${digest}`)
}

test('a load that was cut short leaves the files watched that the file referred to before', async () => {
  expect(await readAgain({ ...failed, isCutShort: true })).toEqual(['/gateway.yaml c', '/clients.yaml b'])
})

test('a load that has read all names its own files', async () => {
  expect(await readAgain(failed)).toEqual(['/gateway.yaml c'])
})
