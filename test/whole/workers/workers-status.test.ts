/** What the operator's listener reports and decides when several processes serve. */

import { expect, onTestFinished, test } from 'vitest'
import type { AdminContextInit } from '../../../src/core/admin/admin-context.ts'
import { openAdminServer } from '../../../src/core/admin/server.ts'
import type { Config } from '../../../src/core/config/config.ts'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import type { PrimaryParts } from '../../../src/core/runtime/primary-part.ts'
import { Reloader } from '../../../src/core/runtime/reload/reloader.ts'
import { DataPlane } from '../../../src/core/runtime/snapshot/data-plane.ts'
import { collectReport, mergeReports } from '../../../src/core/runtime/status/report.ts'
import type { StatusReport } from '../../../src/core/runtime/status/status-part.ts'
import type { WorkerStatus } from '../../../src/features/workers/admin.ts'
import { parse } from '../../core/config/helper.ts'
import { configText, logInMemory } from '../../helpers/gateway.ts'
import { fetchAdmin } from '../../helpers/live-gateway.ts'

const [one, two] = ['http://127.0.0.1:1', 'http://127.0.0.1:2'] as const

const first: WorkerStatus = {
  worker: 1,
  pid: 4242,
  state: 'serving',
  startedAt: Date.parse('2026-11-21T02:00:07.512Z'),
  heardAt: null,
  restarts: 0,
  inFlight: 3,
  config: '3f1c0a9be2d4',
}

const partsWith = (workers: Pick<PrimaryParts['workers'], 'states'>): PrimaryParts =>
  ({ audit: { state: null }, workers }) as object as PrimaryParts

/** Collects the report of an idle gateway. */
const quiet = async (config: Config, overrides: Overrides): Promise<StatusReport> => {
  const plane = new DataPlane({ config, overrides: overrides, sandboxOrigin: null }, { logEvent: () => {} })
  const report = collectReport(plane.currentSnapshot)
  await plane.close(0)
  return report
}

/** Opens the listener of a gateway with two endpoints for each group. */
const open = async (more: Partial<AdminContextInit> = {}, reports?: (quiet: StatusReport) => StatusReport) => {
  const loaded = parse(configText({ upstream: { endpoints: [one, two] } }))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const { config } = loaded
  const nothing = (): void => {}
  const overrides = new Overrides(nothing, nothing)
  const acting = { preflight: async () => [], apply: async () => {}, onOutcome: nothing }
  const reloader = new Reloader({ file: 'gateway.yaml', initial: loaded, load: async () => loaded, ...acting })
  const report = await quiet(config, overrides)
  const context: AdminContextInit = {
    ...{ reloader, overrides, parts: partsWith({ states: [] }), recordAdminEvent: nothing },
    ...{ draining: () => false, notServing: () => null, droppedLines: () => 0 },
    report: async () => reports?.(report) ?? report,
    runEverywhere: async () => ({ results: [], unanswered: 0 }),
    ...more,
  }
  const admin = await openAdminServer(context, logInMemory().log)
  onTestFinished(async () => {
    overrides.clear()
    reloader.close()
    await admin.close()
  })
  return `http://127.0.0.1:${admin.address.port}`
}

test('each worker is listed, with what is not known of it as null', async () => {
  const unknown = { pid: null, startedAt: null, inFlight: null, config: null } as const
  const gone = { ...first, worker: 2, state: 'waiting', ...unknown } as const
  const admin = await open({ parts: partsWith({ states: [first, gone] }) })

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
  const admin = await open({ parts: partsWith(workers) }, (report) => {
    reports++
    return report
  })

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
  const admin = await open({ notServing: () => notServing, draining: () => draining })

  const [ready, status] = [await fetchAdmin(`${admin}/ready`), await fetchAdmin(`${admin}/status`)]

  expect([ready.status, ready.body]).toEqual(reason === null ? [200, { ready: true }] : [503, { ready: false, reason }])
  expect(status.body).toMatchObject({ ready: reason === null, notReady: reason, state })
})

test('an endpoint that only some workers have ejected is none to drain the other one for', async () => {
  const state = { name: 'ejected', since: 1, reason: '5 failures in a row' } as const
  const admin = await open({}, (quiet) => {
    const { market } = quiet.upstreams
    const endpoints = market.endpoints.map((each) => (each.url === one ? { ...each, state } : each))
    const ejected = { ...quiet, upstreams: { ...quiet.upstreams, market: { ...market, endpoints } } }
    return mergeReports(quiet, [quiet, ejected])
  })
  const command = { method: 'POST', body: JSON.stringify({ group: 'market', url: two }) }

  const { status, body } = await fetchAdmin(`${admin}/endpoints/drain`, 'POST', command)

  expect([status, body.code]).toEqual([409, 'last-endpoint'])
  expect(body.detail).toContain(`${one} is ejected`)
})
