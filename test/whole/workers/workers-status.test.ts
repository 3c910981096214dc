/** What the operator's listener reports and decides when several processes serve. */
import { expect, test } from 'vitest'
import { mergeReports } from '../../../src/core/runtime/status/report.ts'
import type { StatusReport } from '../../../src/core/runtime/status/status-part.ts'
import type { WorkerStatus } from '../../../src/features/workers/admin.ts'
import { openAdminListener, partsWith } from '../../helpers/admin-listener.ts'
import { fetchAdmin } from '../../helpers/live-gateway.ts'

const [one, two] = ['http://127.0.0.1:1', 'http://127.0.0.1:2'] as const

const first: WorkerStatus = {
  ...{ worker: 1, pid: 4242, state: 'serving', startedAt: Date.parse('2026-11-21T02:00:07.512Z'), heardAt: null },
  ...{ restarts: 0, inFlight: 3, config: '3f1c0a9be2d4' },
}

/** Opens the listener of a gateway with two endpoints for each group. */
const openStatusListener = async (given: Parameters<typeof openAdminListener>[1]) =>
  (await openAdminListener({ upstream: { endpoints: [one, two] } }, given)).url

test('each worker is listed, with what is not known of it as null', async () => {
  const unknown = { pid: null, startedAt: null, inFlight: null, config: null } as const
  const gone = { ...first, worker: 2, state: 'waiting', ...unknown } as const
  const admin = await openStatusListener({ context: { parts: partsWith({ states: [first, gone] }) } })

  const { body } = await fetchAdmin(`${admin}/status`)

  expect(body).toMatchObject({ state: 'serving', ready: true })
  const { heardAt: _, ...shown } = first
  const { heardAt: __, ...shownGone } = gone
  expect(body.workers).toEqual([{ ...shown, startedAt: '2026-11-21T02:00:07.512Z' }, shownGone])
})

test('workers are listed as the report beside them found them', async () => {
  let reports = 0 // before, by the history of rates
  const workers = {
    get states() {
      return [{ ...first, inFlight: reports }]
    },
  }
  const counting = (report: StatusReport) => {
    reports++
    return report
  }
  const admin = await openStatusListener({ context: { parts: partsWith(workers) }, reports: counting })

  const before = reports
  const { body } = await fetchAdmin(`${admin}/status`)

  expect(body.workers).toMatchObject([{ inFlight: before + 1 }])
})

test.each([
  ['while none serves', 'no-worker', false, 'no-worker', 'not serving'],
  ['before the first one does', 'starting', false, 'starting', 'not serving'],
  ['once one does', null, false, null, 'serving'],
  ['while the gateway stops, although workers serve', null, true, 'draining', 'draining'],
  ['while the gateway stops, and nothing listens any more', 'not-listening', true, 'draining', 'draining'],
] as const)('a gateway is ready or not: %s', async (_, notServing, draining, reason, state) => {
  const admin = await openStatusListener({ context: { notServing: () => notServing, draining: () => draining } })

  const [ready, status] = [await fetchAdmin(`${admin}/ready`), await fetchAdmin(`${admin}/status`)]

  expect([ready.status, ready.body]).toEqual(reason === null ? [200, { ready: true }] : [503, { ready: false, reason }])
  expect(status.body).toMatchObject({ ready: reason === null, notReady: reason, state })
})

test('an endpoint that only some workers have ejected is none to drain the other one for', async () => {
  const state = { name: 'ejected', since: 1, reason: '5 failures in a row' } as const
  const ejectedByOne = (quiet: StatusReport) => {
    const { market } = quiet.upstreams
    const endpoints = market.endpoints.map((each) => (each.url === one ? { ...each, state } : each))
    const ejected = { ...quiet, upstreams: { ...quiet.upstreams, market: { ...market, endpoints } } }
    return mergeReports(quiet, [quiet, ejected])
  }
  const admin = await openStatusListener({ reports: ejectedByOne })
  const command = { method: 'POST', body: JSON.stringify({ group: 'market', url: two }) }

  const { status, body } = await fetchAdmin(`${admin}/endpoints/drain`, 'POST', command)

  expect([status, body.code]).toEqual([409, 'last-endpoint'])
  expect(body.detail).toContain(`${one} is ejected`)
})
