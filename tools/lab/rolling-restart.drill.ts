import { expect, test } from 'vitest'
import { type LabEndpoint, openEndpoint, type ShutdownMode } from './endpoint.ts'
import { respond } from './endpoint-behavior.ts'
import { bootLab } from './lab.ts'
import { Ledger } from './ledger.ts'
import { type Load, type Result, startLoad, tally } from './load.ts'

/** Restarts endpoints one after the other, each as soon as the one before has its share of the traffic again. */
const restartAll = async (endpoints: readonly LabEndpoint[], load: Load, how: ShutdownMode): Promise<void> => {
  for (const endpoint of endpoints) {
    await Promise.all([endpoint.shutDown(how), load.next(100)])
    await load.next(100)
    await endpoint.listen()
    const before = endpoint.requests()
    while (endpoint.requests() < before + 20) await load.next(20)
  }
}

/** Restarts three endpoints twice under load, and returns what clients got and what endpoints saw. */
const rollingRestart = async (how: ShutdownMode) => {
  const ledger = new Ledger()
  const behavior = respond({ latencyMs: 10 })
  const open = (name: string) => openEndpoint({ name, ledger, behavior })
  const endpoints = await Promise.all(['one', 'two', 'three'].map(open))
  const upstream = {
    endpoints: endpoints.map(({ url }) => url),
    // Resources without a user are freed soon, and an endpoint that is back soon has traffic again.
    keepAlive: '300ms',
    outlier: { ejectionTime: '200ms' },
    slowStart: 'none',
  }
  const live = await bootLab({ market: upstream, risk: upstream })
  const load = startLoad(live.port, { groups: ['market', 'risk'], lanes: 4 })
  await load.next(100)

  await restartAll(endpoints, load, how)
  await restartAll(endpoints, load, how)

  const results = await load.stop()
  const crossed = endpoints.flatMap((endpoint) => endpoint.crossed)
  const cutAt = endpoints.flatMap((endpoint) => endpoint.cutAt)
  const tallied = tally(results)
  console.info(`${how}: ${JSON.stringify(tallied)}, ${crossed.length} crossed`)
  return { ledger, results, crossed, cutAt, tallied }
}

test('endpoints that say Connection: close are restarted one by one, and no client notices', async () => {
  const { ledger, tallied } = await rollingRestart('finish')

  expect(Object.keys(tallied).toSorted()).toEqual(['GET 200', 'POST 200'])
  expect([...ledger.duplicates('POST'), ...ledger.duplicates('GET')]).toEqual([])
})

test('endpoints that cut idle connections are restarted one by one, and only a POST on its way fails, once', async () => {
  const { ledger, results, crossed, cutAt } = await rollingRestart('cut')

  const failed = results.filter(({ said }) => said !== '200')
  const onItsWay = ({ id, sentAt, ms }: Result): boolean =>
    crossed.includes(id) || (ledger.entriesOf(id).length === 0 && cutAt.some((at) => sentAt <= at && at <= sentAt + ms))
  expect(Object.keys(tally(failed))).toEqual(['POST 502 reset-before-headers'])
  expect(failed.filter((result) => !onItsWay(result))).toEqual([])
  expect(ledger.duplicates('POST')).toEqual([])
})
