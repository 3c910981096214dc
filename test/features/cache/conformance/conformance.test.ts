import { afterAll, describe, expect, test } from 'vitest'
import { layerBench } from './layer.ts'
import { play } from './play.ts'
import { freshness } from './rows/freshness.ts'
import { requests } from './rows/requests.ts'
import { stale } from './rows/stale.ts'
import { cacheStatus } from './rows/status.ts'
import { storing } from './rows/storing.ts'
import { validation } from './rows/validation.ts'
import { vary } from './rows/vary.ts'
import { getRowName } from './script.ts'

const bench = layerBench()
afterAll(() => bench.close())

const sections = { storing, freshness, requests, validation, vary, stale, 'cache status': cacheStatus }

describe.each(Object.entries(sections))('of %s, the layer keeps what is required of a shared cache:', (_, rows) => {
  test.each(rows.map((row) => [getRowName(row), row] as const))('%s', async (_name, row) => {
    expect(await play(row, bench)).toEqual([])
  })
})
