/** How much goes to a candidate, with several workers: one that hangs, and one that ends. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rawClient } from '../../../helpers/raw-client.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'
import { kill, type ShownWorker, startWorkerGateway, type WorkerGateway } from '../../../helpers/worker-gateway.ts'

const script = fileURLToPath(new URL('../../../features/workers/short-timeouts.ts', import.meta.url))

let gateway: WorkerGateway
let upstream: TestUpstream

beforeAll(async () => {
  upstream = await openHttpUpstream((_, response) => void response.end('primary'))
  const market = { endpoints: [upstream.url], candidate: { endpoints: [`${upstream.url}/next`], share: '5%' } }
  gateway = await startWorkerGateway({ workers: 2, upstream: upstream.url, upstreams: { market } }, [script])
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

const order = (body: object) => gateway.ask('POST', '/shift', JSON.stringify({ group: 'market', ...body }))

const share = async (): Promise<number> => {
  const { upstreams } = JSON.parse((await gateway.ask('GET', '/status')).body)
  return upstreams.market.candidate.shift.share
}

const firstPid = async (): Promise<number> => (await gateway.status()).workers[0]?.pid ?? 0

const untilServing = () =>
  expect
    .poll(async () => (await gateway.status()).workers.map(({ state }) => state), { timeout: 30_000 })
    .toEqual(['serving', 'serving'])

test('an order that one worker does not take up is in effect in none, and what held before holds', async () => {
  await order({ to: '10%' })
  const pid = await firstPid()

  kill(pid, 'SIGSTOP')
  const { status, body } = await order({ to: '50%' })
  kill(pid, 'SIGCONT')
  await untilServing()

  expect([status, JSON.parse(body).code]).toEqual([503, 'workers-not-answering'])
  expect(await share()).toBe(0.1)
})

test('an abort waits for no worker that hangs: that one follows, or is replaced', async () => {
  await order({ to: '10%' })
  const pid = await firstPid()

  kill(pid, 'SIGSTOP')
  const { status, body } = await order({ abort: true })
  kill(pid, 'SIGCONT')
  await untilServing()

  expect([status, JSON.parse(body)]).toMatchObject([200, { shift: { share: 0, stopped: true } }])
  expect(await share()).toBe(0)
})

test('an abort hurries the order before it, which waits no longer for a worker that hangs', async () => {
  await order({ resume: true })
  const pid = await firstPid()
  // On one connection, so that they come in this order.
  const post = (body: object): string => {
    const text = JSON.stringify({ group: 'market', ...body })
    return `POST /shift HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  }

  kill(pid, 'SIGSTOP')
  const client = await rawClient(gateway.adminPort)
  client.send(post({ to: '50%' }) + post({ abort: true }))
  const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
  const received = await client.until((text) => statuses(text).length === 2)
  client.close()
  kill(pid, 'SIGCONT')
  await untilServing()

  expect(statuses(received)).toEqual([200, 200])
  expect(await share()).toBe(0)
})

test('an order outlives every worker', async () => {
  await order({ to: '30%' })
  const before = (await gateway.status()).workers.map(({ pid }) => pid ?? 0)

  for (const pid of before) kill(pid, 'SIGKILL')
  await expect
    .poll(async () => (await gateway.status()).workers.filter(isSuccessor(before)).length, { timeout: 30_000 })
    .toBe(2)

  expect(await share()).toBe(0.3)
})

const isSuccessor =
  (before: readonly number[]) =>
  ({ pid, state }: ShownWorker): boolean =>
    state === 'serving' && pid !== null && !before.includes(pid)
