/** That nobody notices a reroute when the folder of the file is not where it is made. */
import { describe, expect, test } from 'vitest'
import { bootEdited } from '../helpers/edited-gateway.ts'
import { openServer } from '../helpers/steady-load.ts'
import { mounted, swapped } from '../helpers/ways.ts'
import { drill, figures, heapGrowth, promptly, routedTo, showsRouteTo } from './drill.ts'

describe('nobody notices a hundred reroutes and a hundred refused edits', () => {
  test.for([
    ['made by swapping a symbolic link, as Kubernetes does', swapped, '{ poll: none }'],
    ['made outside a bind mount of the file', mounted, '{ poll: 100ms }'],
  ] as const)('%s', { timeout: 600_000 }, async ([, make, reload], { annotate }) => {
    const way = make()

    const drilled = await drill(way, 'watch', reload)

    await annotate(figures(way, drilled))
    expect(drilled).toMatchObject({ failed: [], misrouted: [], changed: [] })
    expect(promptly(drilled.appliedMs)).toBeLessThan(1000)
    expect(heapGrowth(drilled)).toBeLessThanOrEqual(1.03)
  })
})

test('an edit outside a bind mount of the file takes effect within six seconds unless the configuration says otherwise', {
  timeout: 60_000,
}, async ({ annotate }) => {
  const [one, two] = [await openServer(0), await openServer(1)]
  const way = mounted()
  way.write(routedTo(one, '{}'))
  const gateway = await bootEdited(way)

  const tookMs: number[] = []
  for (const url of [two, one]) {
    const before = performance.now()
    way.write(routedTo(url, '{}'))
    await gateway.shows(showsRouteTo(url))
    tookMs.push(performance.now() - before)
  }

  await annotate(`${way.name}, default poll: ${tookMs.map(Math.round).join(', ')} ms`)
  expect(Math.min(...tookMs)).toBeLessThan(6000)
})
