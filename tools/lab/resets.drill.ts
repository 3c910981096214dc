import { expect, test } from 'vitest'
import { openEndpoint } from './endpoint.ts'
import { type EndpointBehavior, resetWhenWhole, respond } from './endpoint-behavior.ts'
import { bootLab, newId, sendToGroup } from './lab.ts'
import { Ledger } from './ledger.ts'
import { startLoad, tally } from './load.ts'

/** Opens three endpoints with one behavior, and a gateway in front of them that tries again as it comes. */
const openThree = async (behavior: EndpointBehavior) => {
  const ledger = new Ledger()
  const open = (name: string) => openEndpoint({ name, ledger, behavior })
  const endpoints = await Promise.all(['one', 'two', 'three'].map(open))
  const upstream = { endpoints: endpoints.map(({ url }) => url), retry: {} }
  return { ledger, endpoints, live: await bootLab({ market: upstream, risk: upstream }) }
}

test('of 2,000 POSTs that are reset after they were sent, each is seen once', async () => {
  const { ledger, live } = await openThree(resetWhenWhole)
  const load = startLoad(live.port, { groups: ['risk'], lanes: 16, maxBodyBytes: 10_000 })

  await load.next(2000)
  const results = await load.stop()

  expect(tally(results)).toEqual({ 'POST 502 reset-before-headers': results.length })
  expect(results.filter(({ id }) => ledger.entriesOf(id).length !== 1).length).toBe(0)
  expect(ledger.count).toBe(results.length)
}, 300_000)

test('endpoints that always respond with 503 get at most a fifth more than what is asked', async () => {
  const { ledger, live } = await openThree(respond({ status: 503, latencyMs: 5 }))
  const load = startLoad(live.port, { groups: ['market', 'risk'], lanes: 4 })

  await load.next(600)
  const results = await load.stop()

  const factor = ledger.count / results.length
  console.info(`${results.length} requests, ×${factor.toFixed(3)} upstream`)
  expect(Object.keys(tally(results)).toSorted()).toEqual(['GET 503', 'POST 503'])
  expect(factor).toBeLessThanOrEqual(1.2)
  expect(factor).toBeGreaterThan(1.01) // or nothing was tried again
  expect(ledger.duplicates('POST')).toEqual([])
})

test('Retry-After is waited for, and not when it ends after the deadline', async () => {
  const ledger = new Ledger()
  const busyFor = (seconds: number) => respond({ status: 503, fields: `Retry-After: ${seconds}\r\n` })
  // The first of each operation gets a Retry-After.
  const said = [busyFor(60), busyFor(1)]
  const behavior: EndpointBehavior = {
    onWhole: (turn) => (said[endpoint.requests() - 1] ?? respond()).onWhole?.(turn),
  }
  const endpoint = await openEndpoint({ ledger, behavior })
  const upstream = { endpoints: [endpoint.url], retry: {} }
  const operations = { 'leads.pipeline': { deadline: '20s' } }
  const live = await bootLab({ market: upstream, leads: upstream }, { operations })

  const hurried = await sendToGroup(live.port, 'leads', newId())
  const from = performance.now()
  const patient = await sendToGroup(live.port, 'market', newId())
  const took = performance.now() - from

  expect([hurried.said, hurried.retryAfter, ledger.entriesOf(hurried.id).length]).toEqual(['503', '60', 1])
  expect([patient.said, ledger.entriesOf(patient.id).length]).toEqual(['200', 2])
  expect(took).toBeGreaterThanOrEqual(1000)
})
