/** That nobody notices a reroute when the file is written, or another one over it. Nothing but the watch of its folder tells of it. */
import { describe, expect, test } from 'vitest'
import { inPlace, renamed } from '../helpers/ways.ts'
import { drill, figures, heapGrowth, promptly } from './drill.ts'

describe('nobody notices a hundred reroutes and a hundred refused edits', () => {
  test.for([
    ['made by writing the file in place', inPlace],
    ['made by renaming another file over it', renamed],
  ] as const)('%s', { timeout: 600_000 }, async ([, make], { annotate }) => {
    const way = make()

    const drilled = await drill(way, 'watch', '{ poll: none }')

    await annotate(figures(way, drilled))
    expect(drilled).toMatchObject({ failed: [], misrouted: [], changed: [] })
    expect(promptly(drilled.appliedMs)).toBeLessThan(1000)
    expect(heapGrowth(drilled)).toBeLessThanOrEqual(1.03)
  })
})
