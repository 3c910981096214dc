/** What the log, the audit log, the metrics and the status say of requests with a key of idempotency. */
import { expect, onTestFinished, test } from 'vitest'
import { readExposition } from '../../../core/admin/metrics/parse-exposition.ts'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, eventually } from '../../../helpers/wire.ts'

const bootOnce = async (settings: object = {}) => {
  let status = 200
  const upstream = await httpUpstream((_, response) => response.writeHead(status).end('done'))
  const live = await bootLiveGateway({
    upstream: upstream.url,
    operations: { 'financing.pre-approval': { idempotency: true } },
    ...settings,
  })
  const post = (requestId: string, key: string, body = 'abc') =>
    call(live.gateway.address.port, {
      method: 'POST',
      target: '/financing/pre-approval',
      fields: ['X-Request-Id', requestId, ...(key === '' ? [] : ['Idempotency-Key', key])],
      body: Buffer.from(body),
    })
  const fail = (): void => {
    status = 500
  }
  return { live, post, fail }
}

const told = [
  ['first', 200, 'processed', undefined],
  ['again', 200, 'replayed', 'first'],
  ['other', 422, 'reused', 'first'],
  ['plain', 200, undefined, undefined],
]

test('the log and the audit log say what became of a key, and which request was the first', async () => {
  const log = createAuditLog(onTestFinished)
  const { live, post } = await bootOnce({ audit: log.settings })

  await post('first', 'k-1')
  await post('again', '"k-1"')
  await post('other', 'k-1', 'abd')
  await post('plain', '')
  await eventually(() => log.lines().filter(({ event }) => event === 'exchange').length === 4)

  const columns = ({ requestId, status, idempotency, firstRequestId }: Readonly<Record<string, unknown>>) => [
    requestId,
    status,
    idempotency,
    firstRequestId,
  ]
  expect(live.lines.filter(({ msg }) => msg === 'exchange').map(columns)).toEqual(told)
  expect(
    log
      .lines()
      .filter(({ event }) => event === 'exchange')
      .map(columns),
  ).toEqual(told)
  expect(await log.verify()).toMatchObject({ code: 0 })
  expect(JSON.stringify([live.lines, log.text()])).not.toContain('k-1')
})

test('where no field carries request ids, a repetition leads to the line of the first request all the same', async () => {
  const { live, post } = await bootOnce({ requestId: { header: 'none' } })

  await post('first', 'k-1')
  await post('again', 'k-1')
  await eventually(() => live.lines.filter(({ msg }) => msg === 'exchange').length === 2)

  const [first, again] = live.lines.filter(({ msg }) => msg === 'exchange')
  expect([first?.idempotency, again?.idempotency]).toEqual(['processed', 'replayed'])
  expect(again?.firstRequestId).toBe(first?.requestId)
})

test('the log says that a request has gone on without its client', async () => {
  const upstream = await httpUpstream(() => {})
  const live = await bootLiveGateway({
    upstream: upstream.url,
    operations: { 'financing.pre-approval': { idempotency: true } },
  })
  const leaving = new AbortController()
  const headers = { 'Idempotency-Key': 'k-1', 'X-Request-Id': 'left' }
  const { signal } = leaving
  const left = fetch(`${live.url}/financing/pre-approval`, { method: 'POST', headers, body: 'abc', signal }).catch(
    () => 'left',
  )
  await expect.poll(() => upstream.requests.length).toBe(1)

  leaving.abort()

  expect(await left).toBe('left')
  expect(await live.line(({ msg }) => msg === 'exchange')).toMatchObject({
    ...{ requestId: 'left', failure: 'client-gone', idempotency: 'abandoned' },
  })
})

test('the log says that the outcome is unknown where a client leaves in the middle of a long body', async () => {
  const upstream = await httpUpstream()
  const operations = { 'financing.pre-approval': { idempotency: { maxBody: '1KiB' } } }
  const live = await bootLiveGateway({ upstream: upstream.url, operations })
  const client = await rawClient(live.gateway.address.port)

  client.send(
    `POST /financing/pre-approval HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k-1\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(100_000)}`,
  )
  await eventually(() => upstream.begun() === 1)
  client.socket.resetAndDestroy()
  const line = await live.line(({ msg }) => msg === 'exchange')

  expect(line).toMatchObject({ status: 499, failure: 'client-gone', idempotency: 'unknown' })
})

test('the metrics count the outcomes of each operation that has idempotency, and what is remembered', async () => {
  const { live, post, fail } = await bootOnce()
  const metrics = async () => readExposition(await (await fetch(`${live.admin}/metrics`)).text())

  const before = await metrics()
  await post('first', 'k-1')
  await post('again', 'k-1')
  fail()
  await post('lost', 'k-2')

  const lines = (of: Awaited<ReturnType<typeof metrics>>, name: string) =>
    (of.get(`lender_gateway_idempotency_${name}`)?.lines ?? []).map(({ labels, value }) => [
      ...Object.values(labels),
      value,
    ])
  expect(lines(before, 'requests_total')).toHaveLength(11)
  await expect
    .poll(async () => lines(await metrics(), 'requests_total').filter(([, , count]) => count !== 0))
    .toEqual([
      ['financing.pre-approval', 'processed', 1],
      ['financing.pre-approval', 'unknown', 1],
      ['financing.pre-approval', 'replayed', 1],
    ])
  const after = await metrics()
  const gauges = ['entries', 'limit_entries', 'in_progress', 'unknown', 'store_up', 'dropped_total', 'refused_total']
  expect(gauges.flatMap((name) => lines(after, name))).toEqual([[2], [200_000], [0], [1], [1], [0], [0]])
})

test('the status says how full the memory is, and null where no operation has idempotency', async () => {
  const { live, post, fail } = await bootOnce()
  const plain = await bootLiveGateway()
  fail()

  await post('lost', 'k-1')

  const { idempotency } = (await fetchAdmin(`${live.admin}/status`)).body
  expect(idempotency).toEqual({
    store: 'memory',
    state: 'local',
    since: expect.stringMatching(/^\d{4}-.*Z$/),
    reason: null,
    where: null,
    entries: 1,
    maxEntries: 200_000,
    bytes: 0,
    maxBytes: 64 * 1024 ** 2,
    inProgress: 0,
    unknown: 1,
    oldestUnknown: expect.stringMatching(/^\d{4}-.*Z$/),
    dropped: 0,
    refused: 0,
  })
  expect((await fetchAdmin(`${plain.admin}/status`)).body.idempotency).toBeNull()
  expect(await (await fetch(`${plain.admin}/metrics`)).text()).not.toContain('idempotency_')
})
