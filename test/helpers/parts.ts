import type { Config } from '../../src/core/config/config.ts'
import { aloneProcess, type ProcessPlace } from '../../src/core/runtime/channel.ts'
import { Overrides } from '../../src/core/runtime/overrides.ts'
import {
  type ProcessParts,
  runtimePartSources,
  type ServingProcess,
  type SnapshotInput,
  type SnapshotParts,
} from '../../src/core/runtime/runtime-part.ts'
import { acquireParts, loadParts, openParts } from '../../src/core/runtime/runtime-parts.ts'
import type { Upstream } from '../../src/core/upstream/upstream.ts'
import { byGroup } from '../../src/operations.ts'

export const toInput = (config: Config): SnapshotInput => ({ config, overrides: new Overrides(), sandboxOrigin: null })

await loadParts()

type TestProcess = Partial<Omit<ServingProcess, 'place'>> & { readonly place?: ProcessPlace }

/** Opens the features in a process that serves alone. */
export const openTestParts = (process: TestProcess = {}) =>
  openParts(
    { place: aloneProcess, digestKey: '', log: null, logEvent: () => {}, ...process },
    runtimePartSources.keys(),
  )

const nullUpstream: Upstream = {
  send: () => Promise.reject(new TypeError('nothing is sent')),
  members: [],
  balance: 'p2c',
  breaker: null,
  activate: () => {},
}

/** Makes the features of a snapshot whose upstreams send nothing. */
export const acquireTestParts = (config: Config, opened: ProcessParts = openTestParts()): SnapshotParts =>
  acquireParts(opened, toInput(config), null, {
    upstreams: byGroup(() => nullUpstream),
    openUpstream: () => nullUpstream,
  })
