import { expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { openHttpUpstream } from '../../../helpers/upstream.ts'

interface OperationMembers {
  readonly id: string
  readonly pace: { readonly inFlight: number } | null
}

const dead = 'http://127.0.0.1:1'

test('it shows the operations with what they do, and the recent errors, without what clients wrote', async () => {
  const { url, admin, line } = await bootLiveGateway({ upstreams: { risk: dead }, metrics: true })
  await fetch(`${url}/market/insights?token=hunter2`)
  await fetch(`${url}/risk/asset-valuation`, { method: 'POST', body: '{}' })
  await line(({ failure }) => failure === 'connect-failed') // a request is recorded when its response has closed
  await fetch(`${url}/market/hunter2`, { headers: { 'X-Request-Id': 'mine' } })
  await line(({ failure }) => failure === 'not-found')

  const overview = async () => (await fetchAdmin(`${admin}/overview`)).body
  await expect
    .poll(async () => (await overview()).operations)
    .toContainEqual(expect.objectContaining({ id: 'market.insights', pace: expect.objectContaining({ inFlight: 0 }) }))
  const body = await overview()

  expect(body.operations).toHaveLength(9)
  expect(body.status).toMatchObject({ state: 'serving' })
  expect(body.refusals).toMatchObject([
    { status: 404, kind: 'not-found', requestId: 'mine', reason: expect.stringContaining('none of the nine') },
    { status: 502, kind: 'connect-failed', operation: 'risk.asset-valuation', endpoint: dead },
  ])
  expect(JSON.stringify(body)).not.toContain('hunter2')
})

test('what is in flight is counted until the last byte of its response', async () => {
  const arrived = Promise.withResolvers<() => void>()
  const upstream = await openHttpUpstream((_, response) => {
    response.write('a')
    arrived.resolve(() => response.end('b'))
  })
  const { url, admin } = await bootLiveGateway({ upstream: upstream.url, metrics: true })
  const inFlight = async (): Promise<unknown> => {
    const { body } = await fetchAdmin(`${admin}/overview`)
    const operations = Object.values(body.operations ?? {}) as readonly OperationMembers[]
    return operations.find(({ id }) => id === 'market.insights')?.pace?.inFlight
  }

  const response = await fetch(`${url}/market/insights`)
  const finish = await arrived.promise
  await expect.poll(inFlight).toBe(1)
  finish()
  await response.text()

  await expect.poll(inFlight).toBe(0)
})

test('an operation whose every request fails does so, by what it did of late or by its group', async () => {
  for (const metrics of [true, 'none'] as const) {
    const { url, admin } = await bootLiveGateway({ upstreams: { risk: dead }, metrics })
    const failing = async (): Promise<unknown> => {
      const { body } = await fetchAdmin(`${admin}/overview`)
      const operations = Object.values(body.operations ?? {}) as readonly (OperationMembers & {
        readonly failing: boolean
      })[]
      return operations.filter((each) => each.failing).map(({ id }) => id)
    }
    await fetch(`${url}/market/insights`)
    expect(await failing()).toEqual([])

    for (let n = 0; n < 5; n++) await fetch(`${url}/risk/asset-valuation`, { method: 'POST', body: '{}' })

    await expect.poll(failing).toEqual(['risk.asset-valuation'])
  }
})

test('an operation does not fail with its primary where every client is on the candidate', async () => {
  const { url } = await openHttpUpstream()
  const candidate = { endpoints: [url], share: '100%' }
  const risk = { endpoints: [dead], healthCheck: { path: '/', interval: '100ms', unhealthyAfter: 1 }, candidate }
  const { admin } = await bootLiveGateway({ upstreams: { risk } })
  const overview = async () => (await fetchAdmin(`${admin}/overview`)).body
  await expect.poll(async () => JSON.stringify((await overview()).status)).toContain('every client is on the candidate')

  const operations = Object.values((await overview()).operations ?? {}) as readonly { readonly failing: boolean }[]

  expect(operations.filter(({ failing }) => failing)).toEqual([])
})

test('without metrics there are no rates, and all the rest', async () => {
  const { url, admin } = await bootLiveGateway({ upstream: dead, metrics: 'none' })
  await fetch(`${url}/market/insights`)

  const { body } = await fetchAdmin(`${admin}/overview`)

  expect(body.operations).toMatchObject(Array.from({ length: 9 }, () => ({ pace: null, history: null })))
  expect(body.refusals).toMatchObject([{ kind: 'connect-failed' }])
})

test('the recent errors alone are under /refused', async () => {
  const { url, admin } = await bootLiveGateway({ upstream: dead })
  await fetch(`${url}/market/insights`)

  const { body } = await fetchAdmin(`${admin}/refused`)

  expect(body.refusals).toMatchObject([
    { kind: 'connect-failed', reason: 'the endpoint refuses connections (ECONNREFUSED)' },
  ])
})
