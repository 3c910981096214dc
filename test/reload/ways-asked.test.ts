/** That nobody notices a reroute when the gateway is told to read the file, and does not watch it. */
import { describe, expect, test } from 'vitest'
import { inPlace } from '../helpers/ways.ts'
import { drill, figures, heapGrowth, promptly } from './drill.ts'

describe('nobody notices a hundred reroutes and a hundred refused edits', () => {
  test.for([
    ['told by SIGHUP', 'signal'],
    ['told by POST /reload', 'request'],
  ] as const)('%s', { timeout: 600_000 }, async ([, trigger], { annotate }) => {
    const way = inPlace()

    const drilled = await drill(way, trigger, '{ watch: false }')

    await annotate(figures(way, drilled))
    expect(drilled).toMatchObject({ failed: [], misrouted: [], changed: [] })
    expect(promptly(drilled.appliedMs)).toBeLessThan(1000)
    expect(heapGrowth(drilled)).toBeLessThanOrEqual(1.03)
  })
})
