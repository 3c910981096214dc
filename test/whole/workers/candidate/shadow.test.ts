/** Copies with several workers: together they have what the file allows. */
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  onRequest,
  openHttpUpstream,
  openRawUpstream,
  type RawUpstream,
  type TestUpstream,
} from '../../../helpers/upstream.ts'
import { startWorkerGateway, type WorkerGateway } from '../../../helpers/worker-gateway.ts'

let primary: TestUpstream
let candidate: RawUpstream
let gateway: WorkerGateway
const held: Socket[] = []

beforeAll(async () => {
  primary = await openHttpUpstream((_, response) => void response.end('primary'))
  candidate = await openRawUpstream((socket) => {
    onRequest(socket, () => void held.push(socket))
    socket.once('end', () => socket.destroy())
  })
  const shadow = { sample: '100%', concurrency: 4, timeout: '10m' }
  gateway = await startWorkerGateway({
    workers: 2,
    upstreams: { market: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], shadow } } },
  })
}, 120_000)

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([primary?.close(), candidate?.close()])
})

test('the bounds of copies are divided among workers, and their counts added up', async () => {
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async () => {
      const headers = { Connection: 'close' }
      return (await fetch(`http://127.0.0.1:${gateway.port}/market/insights`, { headers })).status
    }),
  )
  const shown = async () => {
    const { upstreams } = JSON.parse((await gateway.ask('GET', '/status')).body)
    const { sent, underWay, dropped } = upstreams.market.candidate.shadow
    return [sent, underWay, dropped.full]
  }

  await expect.poll(shown, { timeout: 30_000 }).toEqual([4, 4, 56])
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(held).toHaveLength(4)
})

test('a gateway that stops waits for no copy', async () => {
  gateway.signal('SIGTERM')
  await gateway.ended // each copy may take 10 min

  await expect.poll(candidate.connections, { timeout: 30_000 }).toBe(0)
})
