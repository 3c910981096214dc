/** That nobody notices a reroute, with the watch of folders alone to tell the gateway of the edit. */
import { describe, expect, test } from 'vitest'
import { inPlace, renamed, swapped } from '../helpers/ways.ts'
import { drill, figures, heapGrowth } from './drill.ts'

describe('nobody notices a hundred reroutes and a hundred refused edits', {
  concurrent: true,
  timeout: 600_000,
}, () => {
  test.for([
    ['made by writing the file in place', inPlace, 'watch', '{ poll: none }'],
    ['made by renaming another file over it', renamed, 'watch', '{ poll: none }'],
    ['made by swapping a symbolic link, as Kubernetes does', swapped, 'watch', '{ poll: none }'],
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
