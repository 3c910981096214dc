/** That nobody notices a reroute where no folder tells the gateway of the edit. */
import { describe, expect, test } from 'vitest'
import { inPlace, mounted } from '../helpers/ways.ts'
import { drill, figures, heapGrowth } from './drill.ts'

describe('nobody notices a hundred reroutes and a hundred refused edits', {
  concurrent: true,
  timeout: 600_000,
}, () => {
  test.for([
    ['made outside a bind mount of the file', mounted, 'watch', '{ poll: 100ms }'],
    ['told by SIGHUP', inPlace, 'signal', '{ watch: false }'],
    ['told by POST /reload', inPlace, 'request', '{ watch: false }'],
  ] as const)('%s', async ([, make, trigger, reload], { annotate, onTestFinished }) => {
    const way = make(onTestFinished)

    const drilled = await drill(way, trigger, reload, onTestFinished)

    await annotate(figures(way, drilled))
    expect(drilled).toMatchObject({ failed: [], misrouted: [], changed: [] })
    // The best of a hundred: the others tell how busy the machine was.
    expect(Math.min(...drilled.appliedMs)).toBeLessThan(1000)
    expect(heapGrowth(drilled)).toBeLessThanOrEqual(1.03)
  })
})
