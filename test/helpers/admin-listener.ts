/** The operator's listener alone, in front of no gateway: its file is a text, and reading that takes no thread. */
import { onTestFinished } from 'vitest'
import type { AdminContextInit } from '../../src/core/admin/admin-context.ts'
import { openAdminServer } from '../../src/core/admin/server.ts'
import type { Config } from '../../src/core/config/config.ts'
import { Overrides } from '../../src/core/runtime/overrides.ts'
import type { PrimaryParts } from '../../src/core/runtime/primary-part.ts'
import { Reloader } from '../../src/core/runtime/reload/reloader.ts'
import { createDataPlane } from '../../src/core/runtime/snapshot/data-plane.ts'
import { collectReport } from '../../src/core/runtime/status/report.ts'
import type { StatusReport } from '../../src/core/runtime/status/status-part.ts'
import { parse } from '../core/config/helper.ts'
import { configText, logInMemory, type Settings } from './gateway.ts'

/** The parts of the primary, with these workers. */
export const partsWith = (workers: Pick<PrimaryParts['workers'], 'states'>): PrimaryParts =>
  ({ audit: { state: null }, workers }) as object as PrimaryParts

/** Collects the report of an idle gateway. */
const collectQuiet = async (config: Config, overrides: Overrides): Promise<StatusReport> => {
  const plane = await createDataPlane(
    { config, overrides, sandboxOrigin: 'http://127.0.0.1:9' },
    { logEvent: () => {} },
  )
  const report = collectReport(plane.currentSnapshot)
  await plane.close(0)
  return report
}

const read = (settings: Settings) => {
  const loaded = parse(configText(settings))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

interface Given {
  readonly context?: Partial<AdminContextInit>
  readonly reports?: (quiet: StatusReport) => StatusReport
  /** What an edit waits for before it takes effect. */
  readonly preflight?: () => Promise<void>
}

/** Opens it; an edit takes effect at the next reload. */
export const openAdminListener = async (
  settings: Settings,
  { context = {}, reports = (quiet) => quiet, preflight = async () => {} }: Given = {},
) => {
  const initial = read(settings)
  let edited = initial
  const nothing = (): void => {}
  const overrides = new Overrides(nothing, nothing)
  const { log, lines } = logInMemory()
  const reloader = new Reloader({
    ...{ file: 'gateway.yaml', initial, load: async () => edited, onOutcome: nothing },
    preflight: () => preflight().then(() => []),
    apply: async ({ admin }) => server.applyConfig(admin),
  })
  const report = await collectQuiet(initial.config, overrides)
  const init: AdminContextInit = {
    ...{ reloader, overrides, parts: partsWith({ states: [] }), recordAdminEvent: nothing },
    ...{ draining: () => false, notServing: () => null, droppedLines: () => 0 },
    report: async () => reports(report),
    runEverywhere: async () => ({ results: [], silent: 0 }),
    ...context,
  }
  const server = await openAdminServer(init, log)
  onTestFinished(async () => {
    overrides.clear()
    reloader.close()
    await server.close()
  })
  const { port } = server.address
  const edit = (next: Settings): void => {
    edited = read(next)
  }
  return { port, url: `http://localhost:${port}`, reloader, lines, edit }
}
