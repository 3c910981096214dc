import { appendFileSync, readFileSync, truncateSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { exchangeRaw } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'
import { createAuditLog, sha256, whole } from '../audit-log-place.ts'
import { verified } from '../sample-audit-log.ts'

test('every request leaves a line, from whatever the response comes, with its target and nothing that is secret', async () => {
  const log = createAuditLog(onTestFinished)
  const large = Buffer.alloc(512 * 1024, 'planted-response')
  const upstream = await httpUpstream(({ method }, response) => response.end(method === 'GET' ? large : 'ok'))
  const live = await bootLiveGateway({
    upstream: upstream.url,
    audit: { ...log.settings, digests: 'both' },
    operations: { 'financing.pre-approval': { state: 'reject' } },
  })
  const { port } = live.gateway.address
  const headers = (id: string) => ({ 'X-Request-Id': id, Authorization: 'planted-token', Cookie: 'a=planted-cookie' })
  const post = (path: string, id: string, body: string) =>
    fetch(live.url + path, { method: 'POST', body, headers: headers(id) }).then((response) => response.text())

  await fetch(`${live.url}/market/insights?q=planted-query`, { headers: headers('id-1') }).then((each) => each.bytes())
  await post('/valuation/score', 'id-2', 'planted-body')
  await post('/financing/pre-approval', 'id-3', 'planted-body')
  await fetch(`${live.url}/planted-path`, { headers: headers('id-4') })
  await fetch(`${live.url}/valuation/score`, { headers: headers('id-5') })
  await exchangeRaw(port, 'GET /market/insights HTTP/1.1\r\n\r\n')
  await exchangeRaw(port, 'NONSENSE\r\n\r\n')
  await exchangeRaw(port, 'CONNECT planted:1 HTTP/1.1\r\nHost: planted:1\r\n\r\n')
  await eventually(() => log.lines().length >= 9)

  const [start, ...lines] = log.lines()
  const config = live.gateway.config.hash
  const digestsOfNone = { requestDigest: null, responseDigest: null }
  const nothing = { client: null, method: null, operation: null, endpoint: null, ...digestsOfNone }
  expect(start).toMatchObject({ event: 'start', seq: 1 })
  const { url: endpoint } = upstream
  const market = { operation: 'market.insights', endpoint, responseDigest: sha256(large) }
  const digests = { requestDigest: sha256('planted-body'), responseDigest: sha256('ok') }
  const rejected = { failure: 'rejected-by-operator', operation: 'financing.pre-approval' }
  expect(lines).toMatchObject(
    [
      { requestId: 'id-1', status: 200, failure: null, ...market },
      { requestId: 'id-2', status: 200, failure: null, operation: 'valuation.score', endpoint, ...digests },
      { requestId: 'id-3', status: 503, ...rejected },
      { requestId: 'id-4', status: 404, failure: 'not-found' },
      { requestId: 'id-5', status: 405, failure: 'method-not-allowed' },
      { status: 400, failure: 'bad-request' },
      { status: 400, failure: 'bad-request' },
      { status: 405, failure: 'method-not-allowed' },
    ].map((line) => ({ event: 'exchange', address: '127.0.0.1', config, ...nothing, ...line })),
  )
  expect(log.text()).not.toContain('planted')
  expect(log.text()).not.toContain('kkkk')
  expect(await log.verify()).toEqual(whole)
})

test('while lines cannot be written, requests are rejected', async () => {
  const log = createAuditLog(onTestFinished)
  const live = await bootLiveGateway({ audit: log.settings })
  const ask = async (): Promise<number> => (await fetch(`${live.url}/market/insights`)).status
  const state = async () => {
    const { body } = await fetchAdmin(`${live.admin}/status`)
    return (body as { readonly audit?: { readonly state: string } }).audit
  }
  expect(await ask()).toBe(200)
  await eventually(() => log.lines().length === 2)
  const { length } = readFileSync(log.file)

  appendFileSync(log.file, 'an intruder\n')
  await ask()
  await live.line(({ msg }) => msg === 'audit cannot be written')
  const meanwhile = await ask()
  const failing = await state()
  truncateSync(log.file, length)
  await expect.poll(async () => (await state())?.state).toBe('written')
  const afterwards = await ask()
  await eventually(() => log.lines().length === 5)

  expect(failing).toMatchObject({ state: 'failing', reason: expect.stringContaining('who else writes to it') })
  expect([meanwhile, afterwards]).toEqual([503, 200])
  expect(await log.verify()).toEqual(whole)
})

test('a setting that cannot be enforced stops the start, and rejects the reload', async () => {
  const log = createAuditLog(onTestFinished)
  const nowhere = { ...log.settings, file: '/nowhere/audit.log' }
  const start = bootLiveGateway({ audit: nowhere })
  await expect(start).rejects.toThrow('audit.file /nowhere/audit.log cannot be used: ENOENT')

  const live = await bootLiveGateway({ audit: log.settings })
  live.edit({ audit: nowhere })
  const rejected = await fetchAdmin(`${live.admin}/reload`, 'POST')

  expect(rejected.status).toBe(422)
  expect(JSON.stringify(rejected.body)).toContain('audit.file /nowhere/audit.log cannot be used')
  expect(await log.verify()).toEqual(whole)
})

test('it is switched on, moved and off by reloads; what is under way then has no line, nor has the reload', async () => {
  const [first, second] = [createAuditLog(onTestFinished), createAuditLog(onTestFinished)]
  const held = Promise.withResolvers<void>()
  const upstream = await httpUpstream(async ({ url }, response) => {
    if (url.includes('held')) await held.promise
    response.end()
  })
  const live = await bootLiveGateway({ upstream: upstream.url })
  const reload = async (audit: Settings['audit']): Promise<number> => {
    live.edit({ upstream: upstream.url, ...(audit && { audit: { ...audit } }) })
    return (await fetchAdmin(`${live.admin}/reload`, 'POST')).status
  }
  const ask = (id: string) => fetch(`${live.url}/market/insights?${id}`, { headers: { 'X-Request-Id': id } })

  await ask('unrecorded-1')
  const statuses = [await reload(first.settings)]
  await ask('first')
  statuses.push(await reload(second.settings))
  await ask('second')
  const asked = ask('held')
  await eventually(() => upstream.begun() === 4)
  statuses.push(await reload(undefined))
  held.resolve()
  await asked
  await ask('unrecorded-2')
  await live.line(({ requestId }) => requestId === 'held')
  await live.line(({ msg, url }) => msg === 'admin request' && url === '/reload')
  await eventually(() => [first, second].every((log) => log.lines().at(-1)?.event === 'end'))

  expect(statuses).toEqual([200, 200, 200])
  const told = [first, second].map((log) =>
    log.lines().flatMap(({ event, requestId }) => (event === 'admin request' ? [] : [requestId ?? event])),
  )
  expect(told).toEqual([
    ['start', 'reload', 'first', 'end'],
    ['start', 'reload', 'second', 'end'],
  ])
  expect(second.lines().at(-1)).toMatchObject({ reason: 'reconfigured' })
  expect([await first.verify(), await second.verify()]).toEqual([whole, whole])
})

test('on standard output it stands between the lines of the log, and can be verified there', async () => {
  const log = createAuditLog(onTestFinished)
  const live = await bootLiveGateway({ audit: { ...log.settings, file: 'stdout' } })

  for (let n = 0; n < 5; n++) await fetch(`${live.url}/market/insights`)
  await eventually(() => live.lines.filter((line) => 'audit' in line).length >= 6)

  const text = live.lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  expect(live.lines.filter(({ msg }) => msg === 'exchange')).toHaveLength(5)
  expect(verified([text], { mixed: true })).toMatchObject({ findings: [], chains: [{ first: 1 }] })
})
