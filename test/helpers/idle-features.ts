/** What the features that are there say of a gateway that is configured by default and has done nothing yet. */

import type { AdminContext } from '../../src/core/admin/admin-context.ts'
import { adminParts } from '../../src/core/admin/admin-parts.ts'
import type { StatusInputs } from '../../src/core/admin/api/status.ts'
import type { FindingInputs } from '../../src/core/admin/findings/finding-inputs.ts'
import { OpenPrimaryParts } from '../../src/core/runtime/primary-parts.ts'
import type { Snapshot } from '../../src/core/runtime/snapshot/snapshot.ts'
import type { StatusContext } from '../../src/core/runtime/status/field.ts'
import type { SideReport } from '../../src/core/runtime/status/side.ts'
import { type StatusReport, statusPartLoaders } from '../../src/core/runtime/status/status-part.ts'
import type { UpstreamReport } from '../../src/core/runtime/status/upstreams.ts'
import { logInMemory, testConfig } from './gateway.ts'
import { acquireTestParts } from './parts.ts'

const config = testConfig()
const snapshot = { config, parts: acquireTestParts(config) } as Snapshot
const statusParts = await statusPartLoaders.load()
const context = { operatorKeys: () => null, reloader: { file: 'gateway.yaml', config } } as object as AdminContext

const opened = new OpenPrimaryParts(
  { log: logInMemory().log, droppedLines: () => 0, config: () => config, reapply: () => {} },
  () => {},
)

/** Their parts in the process that operators speak with. */
export const idleParts = opened.byFeature

export const idleOverrides = opened.overrides

/** Their sections of a report. */
export const idleReport = Object.fromEntries(
  statusParts.flatMap(({ reported = [] }) => reported).map(({ key, collect }) => [key, collect(snapshot)]),
)

const ofGroup = statusParts.flatMap(({ ofGroup = [] }) => ofGroup)

/** Their members of the report of an upstream. */
export const idleUpstreamReport = Object.fromEntries(
  ofGroup.map(({ key, collect }) => [key, collect(snapshot, 'risk')]),
) as Omit<UpstreamReport, keyof SideReport>

/** Their inputs of findings. */
export const idleInputs = (report: StatusReport): object =>
  Object.assign({}, ...adminParts.map(({ findingInputs }) => findingInputs?.(context, report)))

/** Their sections of /status. */
export const idleStatus = (inputs: FindingInputs): object => {
  const shown: StatusInputs = { context, report: inputs.report, inputs, found: [] }
  const sections = adminParts.flatMap(({ status = [] }) => status)
  return Object.fromEntries(sections.map(({ key, field }) => [key, field.derive(shown, statusContext(inputs))]))
}

/** Their members of the status of an upstream. */
export const idleUpstreamStatus = (inputs: FindingInputs): object =>
  Object.fromEntries(
    ofGroup.map(({ key, field, collect }) => [key, field.show(collect(snapshot, 'risk'), statusContext(inputs))]),
  )

const statusContext = ({ overrides }: FindingInputs): StatusContext => ({
  overrides,
  operatorKeys: context.operatorKeys,
})
