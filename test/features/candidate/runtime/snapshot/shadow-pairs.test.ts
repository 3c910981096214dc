/** Copies beside what else may happen: orders about the candidate, and clients that leave. */
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../../helpers/live-gateway.ts'
import { rawClient } from '../../../../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../../helpers/upstream.ts'

interface Shown {
  readonly sent: number
  readonly underWay: number
  readonly pairs: number
}

const shownOf = async ({ admin }: LiveGateway): Promise<Shown> => {
  const { body } = await fetchAdmin(`${admin}/status`)
  const { upstreams } = body as unknown as {
    readonly upstreams: { readonly market: { readonly candidate: { readonly shadow: Shown } } }
  }
  return upstreams.market.candidate.shadow
}

const get = async ({ url }: LiveGateway): Promise<number> => {
  const response = await fetch(`${url}/market/insights`)
  await response.arrayBuffer()
  return response.status
}

const order = ({ admin }: LiveGateway, body: object) =>
  fetchAdmin(`${admin}/shift`, 'POST', { body: JSON.stringify({ group: 'market', ...body }) })

const bootMarket = (primary: string, candidate: string, shadow: object = {}) =>
  bootLiveGateway({
    upstreams: {
      market: {
        endpoints: [primary],
        candidate: { endpoints: [candidate], share: '1%', shadow: { sample: '100%', ...shadow } },
      },
    },
  })

test('an aborted shift ends the copies, and a resumed one begins them again', async () => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const live = await bootMarket(primary.url, candidate.url)
  const askTimes = async (times: number): Promise<void> => {
    for (let nth = 0; nth < times; nth++) expect(await get(live)).toBe(200)
  }

  await askTimes(3)
  await expect.poll(async () => (await shownOf(live)).pairs, { timeout: 30_000 }).toBe(3)
  expect((await order(live, { abort: true })).status).toBe(200)
  await askTimes(3)
  expect((await shownOf(live)).sent).toBe(3)
  expect((await order(live, { resume: true })).status).toBe(200)
  await askTimes(3)

  await expect.poll(async () => (await shownOf(live)).pairs, { timeout: 30_000 }).toBe(6)
  expect(candidate.requests.filter(({ rawHeaders }) => rawHeaders.includes('X-Shadow'))).toHaveLength(6)
})

test('a copy that hangs when a shift is aborted ends with its time, and keeps no client waiting', async () => {
  const held: Socket[] = []
  const primary = await httpUpstream()
  const candidate = await rawUpstream((socket) => {
    onRequest(socket, () => void held.push(socket))
    socket.once('end', () => socket.destroy())
  })
  const live = await bootMarket(primary.url, candidate.url, { timeout: '1s' })

  await get(live)
  await expect.poll(() => held.length, { timeout: 30_000 }).toBe(1)
  await order(live, { abort: true })
  expect(await get(live)).toBe(200)

  await expect.poll(async () => (await shownOf(live)).underWay, { timeout: 30_000 }).toBe(0)
  await expect.poll(candidate.connections, { timeout: 30_000 }).toBe(0)
  expect(held).toHaveLength(1)
})

test('a client that leaves takes its copy out of the comparison, and out of nothing else', async () => {
  const arrived = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const primary = await httpUpstream((_, response) => {
    arrived.resolve()
    void released.promise.then(() => response.end('late'))
  })
  const candidate = await httpUpstream()
  const live = await bootMarket(primary.url, candidate.url)
  const client = await rawClient(Number(new URL(live.url).port))

  client.send('GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n')
  await arrived.promise
  await expect.poll(() => candidate.requests.length, { timeout: 30_000 }).toBe(1)
  client.close()
  await expect.poll(async () => (await shownOf(live)).underWay, { timeout: 30_000 }).toBe(0)
  released.resolve()
  expect(await get(live)).toBe(200)

  await expect.poll(async () => (await shownOf(live)).pairs, { timeout: 30_000 }).toBe(1)
  expect((await shownOf(live)).sent).toBe(2)
})
