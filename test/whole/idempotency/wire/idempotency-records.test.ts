/** Idempotency keys in the log, the audit log, the metrics and the status. */
import { afterAll, expect, test } from 'vitest'
import { readExposition } from '../../../core/admin/metrics/parse-exposition.ts'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { abandon, headOf, once, send } from '../../../features/idempotency/wire/keyed-post.ts'
import { bootLiveGateway, fetchAdmin, liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import type { LogLine } from '../../../helpers/log-lines.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

const log = createAuditLog(afterAll)
const gateway = liveGatewayForAll({
  audit: log.settings,
  operations: { 'valuation.score': { idempotency: { maxBody: '1KiB' } } },
})

const post = (requestId: string, key: string | null, body = 'abc', port = gateway.port) =>
  send(port, key, { fields: ['X-Request-Id', requestId], body: Buffer.from(body) })

const isExchange = ({ msg }: LogLine): boolean => msg === 'exchange'

test('the log and the audit log say what became of a key, and which request was the first', async () => {
  gateway.respondWith((_, response) => response.end('done'))
  const exchanges = () => log.lines().filter(({ event }) => event === 'exchange')

  await post('first', 'k-1')
  await post('again', '"k-1"')
  await post('other', 'k-1', 'abd')
  await post('plain', null)
  await eventually(() => exchanges().length === 4)

  const columns = ({ requestId, status, idempotency, firstRequestId }: Readonly<Record<string, unknown>>) =>
    [requestId, status, idempotency, firstRequestId].join(' ').trim()
  const told = ['first 200 processed', 'again 200 replayed first', 'other 422 reused first', 'plain 200']
  expect(gateway.live.lines.filter(isExchange).map(columns)).toEqual(told)
  expect(exchanges().map(columns)).toEqual(told)
  expect(await log.verify()).toMatchObject({ code: 0 })
  expect(JSON.stringify([gateway.live.lines, log.text()])).not.toContain('k-1')
})

test('where no field carries request ids, a repetition leads to the line of the first request all the same', async () => {
  const upstream = await httpUpstream()
  const live = await bootLiveGateway({ upstream: upstream.url, requestId: { header: 'none' }, ...once })
  const exchanges = () => live.lines.filter(isExchange)

  for (const id of ['first', 'again']) await post(id, 'k-1', 'abc', live.gateway.address.port)
  await eventually(() => exchanges().length === 2)

  const [first, again] = exchanges()
  expect([first?.idempotency, again?.idempotency]).toEqual(['processed', 'replayed'])
  expect(again?.firstRequestId).toBe(first?.requestId)
})

test('the log says that a request has gone on without its client', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  gateway.respondWith((_, response) => void released.then(() => response.end()))

  await abandon(gateway.port, 'k-2', () => gateway.begun() === 1)
  const line = await gateway.live.line(({ idempotency }) => idempotency === 'abandoned')
  release()

  expect(line).toMatchObject({ msg: 'exchange', failure: 'client-gone' })
})

test('the log says that the outcome is unknown where a client leaves in the middle of a long body', async () => {
  gateway.respondWith((_, response) => response.end())
  const client = await rawClient(gateway.port)

  client.send(headOf('k-3', 200_000) + 'x'.repeat(100_000))
  await eventually(() => gateway.begun() === 1)
  client.socket.resetAndDestroy()

  const line = await gateway.live.line(({ idempotency }) => idempotency === 'unknown')
  expect(line).toMatchObject({ msg: 'exchange', status: 499, failure: 'client-gone' })
})

test('the metrics and the status count outcomes, and say how full the memory is, where an operation has idempotency', async () => {
  let status = 200
  const upstream = await httpUpstream((_, response) => response.writeHead(status).end('done'))
  const live = await bootLiveGateway({ upstream: upstream.url, ...once })
  const readMetrics = async () => readExposition(await (await fetch(`${live.admin}/metrics`)).text())
  type Metrics = Awaited<ReturnType<typeof readMetrics>>
  const linesOf = (metrics: Metrics, name: string) =>
    (metrics.get(`lender_gateway_idempotency_${name}`)?.lines ?? []).map(({ labels, value }) =>
      [...Object.values(labels), value].join(' '),
    )
  const before = await readMetrics()

  for (const key of ['k-1', 'k-1', 'k-2']) {
    status = key === 'k-2' ? 500 : 200
    await post('any', key, 'abc', live.gateway.address.port)
  }

  expect(linesOf(before, 'requests_total')).toHaveLength(11)
  const counted = async () => linesOf(await readMetrics(), 'requests_total').filter((line) => !line.endsWith(' 0'))
  const outcomes = ['processed', 'unknown', 'replayed']
  await expect.poll(counted).toEqual(outcomes.map((outcome) => `valuation.score ${outcome} 1`))
  const after = await readMetrics()
  const gauges = ['entries', 'limit_entries', 'in_progress', 'unknown', 'store_up', 'dropped_total', 'rejected_total']
  expect(gauges.map((name) => linesOf(after, name).join())).toEqual(['2', '200000', '0', '1', '1', '0', '0'])
  const time = expect.stringMatching(/^\d{4}-.*Z$/)
  expect((await fetchAdmin(`${live.admin}/status`)).body.idempotency).toEqual({
    ...{ store: 'memory', state: 'local', since: time, reason: null, where: null },
    ...{ entries: 2, maxEntries: 200_000, bytes: expect.any(Number), maxBytes: 64 * 1024 ** 2 },
    ...{ inProgress: 0, unknown: 1, oldestUnknown: time, dropped: 0, rejected: 0 },
  })
})

test('neither says anything of idempotency where no operation has it', async () => {
  const { admin } = await bootLiveGateway()

  expect((await fetchAdmin(`${admin}/status`)).body.idempotency).toBeNull()
  expect(await (await fetch(`${admin}/metrics`)).text()).not.toContain('idempotency_')
})
