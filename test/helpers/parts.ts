import type { Config } from '../../src/core/config/config.ts'
import { RequestMetrics } from '../../src/core/log/metrics/request-metrics.ts'
import { aloneProcess, type ProcessPlace } from '../../src/core/runtime/channel.ts'
import { Overrides } from '../../src/core/runtime/overrides.ts'
import type { ServingProcess, SnapshotInput, SnapshotParts } from '../../src/core/runtime/runtime-part.ts'
import { acquireParts, openParts } from '../../src/core/runtime/runtime-parts.ts'

export const toInput = (config: Config): SnapshotInput => ({ config, overrides: new Overrides(), sandboxOrigin: null })

type TestProcess = Partial<Omit<ServingProcess, 'place'>> & { readonly place?: ProcessPlace }

/** Opens the features in a process that serves alone. */
export const openTestParts = (process: TestProcess = {}) =>
  openParts({
    place: aloneProcess,
    requestMetrics: new RequestMetrics(),
    digestKey: '',
    log: null,
    logEvent: () => {},
    ...process,
  })

/** Makes the features of a snapshot. */
export const acquireTestParts = (config: Config, process: TestProcess = {}): SnapshotParts =>
  acquireParts(openTestParts(process), toInput(config), null)
