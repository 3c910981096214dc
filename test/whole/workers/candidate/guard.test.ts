/** A candidate is taken back for all workers, by what each of them counts. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keyedClients, keyOf, type SideUpstreams } from '../../../helpers/candidate.ts'
import { openHttpUpstream } from '../../../helpers/upstream.ts'
import { kill, startWorkerGateway, type WorkerGateway } from '../../../helpers/worker-gateway.ts'

const banks = Array.from({ length: 12 }, (_, index) => `bank-${index}`)

let sides: SideUpstreams
let gateway: WorkerGateway
let isBad = true

beforeAll(async () => {
  sides = {
    primary: await openHttpUpstream((_, response) => void response.end('primary')),
    candidate: await openHttpUpstream((_, response) => void response.writeHead(isBad ? 500 : 200).end('candidate')),
  }
  gateway = await startWorkerGateway({
    workers: 2,
    ...keyedClients(...banks),
    upstreams: {
      market: {
        endpoints: [sides.primary.url],
        candidate: {
          endpoints: [sides.candidate.url],
          share: '50%',
          guard: { minRequests: 20, window: '10s' },
          shadow: { sample: '100%' },
        },
      },
    },
  })
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([sides.primary.close(), sides.candidate.close()])
})

/** Asks as each of the banks, each on a connection of its own, so that all workers have some. */
const askAll = (): Promise<string[]> =>
  Promise.all(
    banks.map(async (bank) => {
      const [name = '', value = ''] = keyOf(bank)
      const response = await fetch(`http://127.0.0.1:${gateway.port}/market/insights`, {
        headers: { Connection: 'close', [name]: value },
      })
      return `${response.status} ${await response.text()}`
    }),
  )

const takebacks = () => gateway.lines.filter(({ msg }) => msg === 'shift taken back')

const askUntil = async (isDone: () => boolean): Promise<void> => {
  while (!isDone()) await askAll()
}

const resume = () => gateway.ask('POST', '/shift', JSON.stringify({ group: 'market', resume: true }))

test('it is taken back in all workers, and gets no copies either', async () => {
  await askUntil(() => takebacks().length === 1)
  const begun = sides.candidate.begun()

  expect(new Set([...(await askAll()), ...(await askAll())])).toEqual(new Set(['200 primary']))
  expect(sides.candidate.begun()).toBe(begun)
})

test('resumed when it is mended it stays, and is judged by what it does from then on', async () => {
  isBad = false
  await resume()
  const enough = sides.candidate.begun() + 200
  await askUntil(() => sides.candidate.begun() >= enough)

  expect(takebacks()).toHaveLength(1)
})

test('it is taken back by what a worker counts that has replaced another', async () => {
  const pids = (await gateway.status()).workers.map(({ pid }) => pid ?? 0)
  for (const pid of pids) kill(pid, 'SIGKILL')
  await expect
    .poll(async () => (await gateway.status()).workers.map(({ state, restarts }) => `${state} ${restarts}`))
    .toEqual(['serving 1', 'serving 1'])

  isBad = true
  await askUntil(() => takebacks().length === 2)

  expect(new Set(await askAll())).toEqual(new Set(['200 primary']))
})
