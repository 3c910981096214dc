import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
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
  const large = Buffer.alloc(512 * 1024, 'planted-answer')
  const upstream = await httpUpstream(({ method }, response) => response.end(method === 'GET' ? large : 'ok'))
  const live = await bootLiveGateway({
    upstream: upstream.url,
    audit: { ...log.settings, digests: 'both' },
    operations: { 'financing.pre-approval': { state: 'refuse' } },
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
  const nothing = {
    client: null,
    method: null,
    operation: null,
    endpoint: null,
    requestDigest: null,
    answerDigest: null,
  }
  expect(start).toMatchObject({ event: 'start', seq: 1 })
  const { url: endpoint } = upstream
  const market = { operation: 'market.insights', endpoint, answerDigest: sha256(large) }
  const score = {
    operation: 'valuation.score',
    endpoint,
    requestDigest: sha256('planted-body'),
    answerDigest: sha256('ok'),
  }
  expect(lines).toMatchObject(
    [
      { requestId: 'id-1', status: 200, failure: null, ...nothing, ...market },
      { requestId: 'id-2', status: 200, failure: null, ...nothing, ...score },
      {
        requestId: 'id-3',
        status: 503,
        failure: 'refused-by-operator',
        ...nothing,
        operation: 'financing.pre-approval',
      },
      { requestId: 'id-4', status: 404, failure: 'not-found', ...nothing },
      { requestId: 'id-5', status: 405, failure: 'method-not-allowed', ...nothing },
      { status: 400, failure: 'bad-request', ...nothing },
      { status: 400, failure: 'bad-request', ...nothing },
      { status: 405, failure: 'method-not-allowed', ...nothing },
    ].map((line) => ({ event: 'exchange', address: '127.0.0.1', config, ...line })),
  )
  expect(log.text()).not.toContain('planted')
  expect(log.text()).not.toContain('kkkk')
  expect(await log.verify()).toEqual(whole)
})

test.each(['refuse', 'continue'])('while lines cannot be written, requests go as configured: %s', async (onFailure) => {
  const log = createAuditLog(onTestFinished)
  const live = await bootLiveGateway({ audit: { ...log.settings, onFailure } })
  const ask = async (): Promise<number> => (await fetch(`${live.url}/market/insights`)).status
  const state = async () =>
    (await fetchAdmin(`${live.admin}/status`)).body as { readonly audit?: { readonly state: string } }
  expect(await ask()).toBe(200)
  await eventually(() => log.lines().length === 2)
  const { length } = readFileSync(log.file)

  appendFileSync(log.file, 'an intruder\n')
  await ask()
  await live.line(({ msg }) => msg === 'audit cannot be written')
  const meanwhile = await ask()
  const failing = await state()
  truncateSync(log.file, length)
  await expect.poll(async () => (await state()).audit?.state).toBe('written')
  const afterwards = await ask()
  await eventually(() => log.lines().length === 5)

  expect(meanwhile).toBe(onFailure === 'refuse' ? 503 : 200)
  expect(failing.audit).toMatchObject({ state: 'failing', reason: expect.stringContaining('who else writes to it') })
  expect(afterwards).toBe(200)
  expect(await log.verify()).toEqual(whole)
})

test('a setting that cannot be enforced stops the start, and rejects the reload', async () => {
  const log = createAuditLog(onTestFinished)
  const nowhere = { ...log.settings, file: '/nowhere/audit.log' }
  await expect(bootLiveGateway({ audit: nowhere })).rejects.toThrow(
    'audit.file /nowhere/audit.log cannot be used: ENOENT',
  )

  const live = await bootLiveGateway({ audit: log.settings })
  live.edit({ audit: nowhere })
  const rejected = await fetchAdmin(`${live.admin}/reload`, 'POST')
  live.edit({ audit: { file: log.file } })
  const keyless = await fetchAdmin(`${live.admin}/reload`, 'POST')
  writeFileSync(log.key.slice('file:'.length), 'short')
  live.edit({ audit: log.settings })
  const short = await fetchAdmin(`${live.admin}/reload`, 'POST')

  writeFileSync(log.key.slice('file:'.length), 'k'.repeat(32))
  expect([rejected.status, keyless.status, short.status]).toEqual([422, 422, 422])
  expect(JSON.stringify(rejected.body)).toContain('audit.file /nowhere/audit.log cannot be used')
  expect(JSON.stringify(keyless.body)).toContain('audit.key')
  expect(JSON.stringify(short.body)).toContain('too short')
  expect(await log.verify()).toEqual(whole)
})

test('it is switched on, moved and off by reloads', async () => {
  const [first, second] = [createAuditLog(onTestFinished), createAuditLog(onTestFinished)]
  const live = await bootLiveGateway()
  const reload = async (audit: Settings['audit']): Promise<number> => {
    live.edit(audit === undefined ? {} : { audit: { ...audit } })
    return (await fetchAdmin(`${live.admin}/reload`, 'POST')).status
  }
  const ask = (id: string) => fetch(`${live.url}/market/insights`, { headers: { 'X-Request-Id': id } })

  await ask('unrecorded-1')
  const statuses = [await reload(first.settings)]
  await ask('first')
  statuses.push(await reload(second.settings))
  await ask('second')
  statuses.push(await reload(undefined))
  await ask('unrecorded-2')

  await eventually(() => [first, second].every((log) => log.lines().at(-1)?.event === 'end'))

  expect(statuses).toEqual([200, 200, 200])
  expect(first.text()).toContain('"requestId":"first"')
  expect(second.text()).toContain('"requestId":"second"')
  expect(first.text() + second.text()).not.toContain('unrecorded')
  expect([await first.verify(), await second.verify()]).toEqual([whole, whole])
})

test('what is under way when a reload switches it off has no line, nor has the reload: the main log has both', async () => {
  const log = createAuditLog(onTestFinished)
  const held = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => void held.promise.then(() => response.end()))
  const live = await bootLiveGateway({ upstream: upstream.url, audit: log.settings })
  const asked = fetch(`${live.url}/market/insights`, { headers: { 'X-Request-Id': 'under-way' } })
  await eventually(() => upstream.begun() === 1)

  live.edit({ upstream: upstream.url })
  await fetchAdmin(`${live.admin}/reload`, 'POST')
  held.resolve()
  const { status } = await asked
  await live.line(({ requestId }) => requestId === 'under-way')
  await live.line(({ msg, url }) => msg === 'admin request' && url === '/reload')
  await eventually(() => log.lines().at(-1)?.event === 'end')

  expect(status).toBe(200)
  expect(log.lines().map(({ event, reason = null }) => [event, reason])).toEqual([
    ['start', null],
    ['end', 'reconfigured'],
  ])
  expect(await log.verify()).toEqual(whole)
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
