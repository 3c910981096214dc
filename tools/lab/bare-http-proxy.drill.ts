/** Bare @fastify/http-proxy in the same laboratory: what the gateway passes must be possible to fail. */
import { describe, expect, test } from 'vitest'
import { bootBareHttpProxy } from './bare-http-proxy.ts'
import { openEndpoint } from './endpoint.ts'
import { type EndpointBehaviour, respond } from './endpoint-behaviour.ts'
import { Ledger } from './ledger.ts'
import { startLoad } from './load.ts'

const openAll = async (...behaviours: readonly EndpointBehaviour[]) => {
  const ledger = new Ledger()
  const endpoints = await Promise.all(behaviours.map((behaviour) => openEndpoint({ ledger, behaviour })))
  return { ledger, endpoints, urls: endpoints.map(({ url }) => url) }
}

/** Sends so many requests and returns the share that failed. */
const failed = async (port: number, count: number) => {
  const load = startLoad(port, { groups: ['market', 'risk'], lanes: 2 })
  await load.next(count)
  const results = await load.stop()
  return { requests: results.length, share: results.filter(({ said }) => said !== '200').length / results.length }
}

describe('bare @fastify/http-proxy', () => {
  test('fails at least 10 % of its first 60 requests when one of three endpoints refuses connections', async () => {
    const { endpoints, urls } = await openAll(respond(), respond(), respond())
    await endpoints[1]?.refuseConnections()

    const { share } = await failed(await bootBareHttpProxy(urls), 60)

    console.info(`${(100 * share).toFixed(1)} % failed`)
    expect(share).toBeGreaterThanOrEqual(0.1)
  })

  test('passes on at least 30 % failures when one of two endpoints always answers 500', async () => {
    const { urls } = await openAll(respond({ status: 500 }), respond())

    const { share } = await failed(await bootBareHttpProxy(urls), 600)

    console.info(`${(100 * share).toFixed(1)} % failed`)
    expect(share).toBeGreaterThanOrEqual(0.3)
  })

  test('asks at least five times as often as it is asked when every response to a GET is 503', async () => {
    const { ledger, urls } = await openAll(respond({ status: 503 }))
    const load = startLoad(await bootBareHttpProxy(urls), { groups: ['market'], lanes: 8 })

    await load.next(8)
    const results = await load.stop()

    const factor = ledger.count / results.length
    console.info(`×${factor.toFixed(1)} upstream`)
    expect(factor).toBeGreaterThanOrEqual(5)
  })
})
