import { byGroup, type Group, groups } from '../../../operations.ts'
import { reportedSides } from '../../exchange/sides.ts'
import { asMap } from '../../lib/text/decode.ts'
import { sum } from '../../log/sum-reports.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import * as field from './field.ts'
import { type Field, mapCountersOf, type Reported, type Shown } from './field.ts'
import { collectSide, type SideReport, type sideField, sideMembers } from './side.ts'
import { statusPartLoaders } from './status-part.ts'

/** The upstream of a group, as a process knows it. A feature adds its members (`declare module`). */
export interface UpstreamReport extends Reported<typeof sideField> {}

/** The upstream of a group, as /status shows it. */
export interface UpstreamStatus extends Shown<typeof sideField> {}

const ofFeatures = (await statusPartLoaders.load()).flatMap(({ ofGroup = [] }) => ofGroup)

const upstream = field.record({
  ...sideMembers,
  ...Object.fromEntries(ofFeatures.map((each) => [each.key, each.field])),
}) as Field<unknown, unknown> as Field<UpstreamReport, UpstreamStatus>

type Upstreams = Readonly<Record<Group, UpstreamReport>>

export const upstreamsField: Field<Upstreams, Readonly<Record<string, UpstreamStatus>>> = {
  merge: (from, workers) =>
    byGroup((group) =>
      upstream.merge(
        from[group],
        workers.map((worker) => worker[group]),
      ),
    ),
  show: (all, context) => byGroup((group) => upstream.show(all[group], { ...context, group })),
  decode: asMap(upstream.decode),
  mapCounters: (all, name, change) =>
    byGroup((group) => mapCountersOf(upstream, all[group], `${name}.${group}`, change)),
}

/**
 * Tells whether a counter is of an endpoint: edits may add ever more of them, and close them. All other names are fixed
 * from the start.
 */
export const isEndpointCounter = (name: string): boolean =>
  name.startsWith('upstreams.') && name.includes('.endpoints.')

export const collectUpstreams = (snapshot: Snapshot): Upstreams =>
  byGroup(
    (group) =>
      ({
        ...collectSide(snapshot.upstreams[group]),
        ...Object.fromEntries(ofFeatures.map(({ key, collect }) => [key, collect(snapshot, group)])),
      }) as UpstreamReport,
  )

/** Counts the requests on their way to upstreams. */
export const countInFlight = (upstreams: Upstreams): number =>
  sum(
    groups
      .flatMap((group) => reportedSides<SideReport>(upstreams[group]))
      .flatMap(({ report }) => report.endpoints.map(({ inFlight }) => inFlight)),
  )
