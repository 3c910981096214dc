/** The sides of clients with several workers: each has a client where the others have it, also a new one. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bucketsOfShare } from '../../../../src/core/exchange/sides.ts'
import { clientBucket } from '../../../../src/features/candidate/layers/side.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'
import { kill, type ShownWorker, startWorkerGateway, type WorkerGateway } from '../../../helpers/worker-gateway.ts'

let primary: TestUpstream
let candidate: TestUpstream
let gateway: WorkerGateway

beforeAll(async () => {
  primary = await openHttpUpstream((_, response) => void response.end('primary'))
  candidate = await openHttpUpstream((_, response) => void response.end('candidate'))
  const steps = { shares: ['20%', '60%'], every: '1h' }
  const market = { endpoints: [primary.url], candidate: { endpoints: [candidate.url], steps } }
  gateway = await startWorkerGateway({
    workers: 2,
    upstreams: { market },
    listen: { trustedProxies: ['127.0.0.1'] },
  })
}, 120_000)

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([primary?.close(), candidate?.close()])
})

const addresses = Array.from({ length: 30 }, (_, index) => `192.0.2.${index}`)

/** Asks as each address, by a connection of its own, so that all workers are asked; returns who has answered. */
const askAll = (): Promise<readonly string[]> =>
  Promise.all(
    addresses.map(async (address) => {
      const headers = { 'X-Forwarded-For': address, Connection: 'close' }
      return (await fetch(`http://127.0.0.1:${gateway.port}/market/insights`, { headers })).text()
    }),
  )

const expectedAt = (share: number): readonly string[] =>
  addresses.map((address) => (clientBucket('market', { address }) < bucketsOfShare(share) ? 'candidate' : 'primary'))

const order = (body: object) => gateway.ask('POST', '/shift', JSON.stringify({ group: 'market', ...body }))

test('every worker has a client on the same side, again and again', async () => {
  for (let round = 0; round < 5; round++) expect(await askAll()).toEqual(expectedAt(0.2))
})

test('an order is in effect in all workers when it is confirmed', async () => {
  expect((await order({ to: '45%' })).status).toBe(200)

  for (let round = 0; round < 5; round++) expect(await askAll()).toEqual(expectedAt(0.45))
})

test('the share, the step and the pause are those of the gateway in workers that replace others', async () => {
  await order({ pause: true })
  const before = (await gateway.status()).workers.map(({ pid }) => pid ?? 0)

  for (const pid of before) kill(pid, 'SIGKILL')
  const isSuccessor = ({ pid, state }: ShownWorker): boolean => state === 'serving' && !before.includes(pid ?? 0)
  await expect
    .poll(async () => (await gateway.status()).workers.filter(isSuccessor).length, { timeout: 60_000 })
    .toBe(2)

  expect(await askAll()).toEqual(expectedAt(0.45))
  const { upstreams } = JSON.parse((await gateway.ask('GET', '/status')).body)
  expect(upstreams.market.candidate.shift).toMatchObject({ step: { reached: 1, of: 2 }, paused: { until: null } })
}, 120_000)
