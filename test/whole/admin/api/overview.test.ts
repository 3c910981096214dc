import { expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

interface OperationMembers {
  readonly id: string
  readonly failing: boolean
  readonly pace: { readonly inFlight: number } | null
}

const overviewOf = async (admin: string) => (await fetchAdmin(`${admin}/overview`)).body
const operationsOf = async (admin: string) =>
  Object.values((await overviewOf(admin)).operations ?? {}) as readonly OperationMembers[]
const failing = async (admin: string) => (await operationsOf(admin)).filter((each) => each.failing).map(({ id }) => id)

const dead = 'http://127.0.0.1:1'

test('it shows the operations with what they do, and the recent errors, without what clients wrote', async () => {
  const { url, admin, line } = await bootLiveGateway({ upstreams: { risk: dead }, metrics: true })
  await fetch(`${url}/market/insights?token=hunter2`)
  await fetch(`${url}/risk/asset-valuation`, { method: 'POST', body: '{}' })
  await line(({ failure }) => failure === 'connect-failed') // a request is recorded when its response has closed
  await fetch(`${url}/market/hunter2`, { headers: { 'X-Request-Id': 'mine' } })
  await line(({ failure }) => failure === 'not-found')

  const idle = { id: 'market.insights', pace: expect.objectContaining({ inFlight: 0 }) }
  await expect.poll(() => operationsOf(admin)).toContainEqual(expect.objectContaining(idle))
  const body = await overviewOf(admin)

  expect(body.operations).toHaveLength(9)
  expect(body.status).toMatchObject({ state: 'serving' })
  expect(body.rejections).toMatchObject([
    { status: 404, kind: 'not-found', requestId: 'mine', reason: expect.stringContaining('none of the nine') },
    { status: 502, kind: 'connect-failed', operation: 'risk.asset-valuation', endpoint: dead },
  ])
  expect(JSON.stringify(body)).not.toContain('hunter2')
})

test('what is in flight is counted until the last byte of its response', async () => {
  const arrived = Promise.withResolvers<() => void>()
  const upstream = await httpUpstream((_, response) => {
    response.write('a')
    arrived.resolve(() => response.end('b'))
  })
  const { url, admin } = await bootLiveGateway({ upstream: upstream.url, metrics: true })
  const inFlight = async () => (await operationsOf(admin)).find(({ id }) => id === 'market.insights')?.pace?.inFlight

  const response = await fetch(`${url}/market/insights`)
  const finish = await arrived.promise
  await expect.poll(inFlight).toBe(1)
  finish()
  await response.text()

  await expect.poll(inFlight).toBe(0)
})

test.each([true, 'none'] as const)('an operation whose every request fails does so, with metrics: %s', async (on) => {
  const { url, admin } = await bootLiveGateway({ upstreams: { risk: dead }, metrics: on })
  await fetch(`${url}/market/insights`)
  expect(await failing(admin)).toEqual([])

  for (let n = 0; n < 5; n++) await fetch(`${url}/risk/asset-valuation`, { method: 'POST', body: '{}' })

  await expect.poll(() => failing(admin)).toEqual(['risk.asset-valuation'])
})

test('an operation does not fail with its primary where every client is on the candidate', async () => {
  const { url } = await httpUpstream()
  const candidate = { endpoints: [url], share: '100%' }
  const risk = { endpoints: [dead], healthCheck: { path: '/', interval: '100ms', unhealthyAfter: 1 }, candidate }
  const { admin } = await bootLiveGateway({ upstreams: { risk } })
  await expect.poll(async () => JSON.stringify(await overviewOf(admin))).toContain('every client is on the candidate')

  expect(await failing(admin)).toEqual([])
})

test('without metrics there are no rates, and all the rest; the recent errors alone are under /rejected', async () => {
  const { url, admin } = await bootLiveGateway({ upstream: dead, metrics: 'none' })
  await fetch(`${url}/market/insights`)
  const rejections = [{ kind: 'connect-failed', reason: 'the endpoint refuses connections (ECONNREFUSED)' }]

  const body = await overviewOf(admin)

  expect(body.operations).toMatchObject(Array.from({ length: 9 }, () => ({ pace: null, history: null })))
  expect(body.rejections).toMatchObject(rejections)
  expect((await fetchAdmin(`${admin}/rejected`)).body.rejections).toMatchObject(rejections)
})
