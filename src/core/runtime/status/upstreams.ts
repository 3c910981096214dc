import { byGroup, type Group, groups } from '../../../operations.ts'
import { reportedSides } from '../../exchange/sides.ts'
import { asMap } from '../../lib/text/decode.ts'
import { sum } from '../../log/sum-reports.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import * as field from './field.ts'
import { type Field, mapCountersOf, type Reported, type Shown } from './field.ts'
import { collectSide, type SideReport, type sideField, sideMembers } from './side.ts'
import { statusPartLoaders } from './status-part.ts'

export interface UpstreamReport extends Reported<typeof sideField> {}

export interface UpstreamStatus extends Shown<typeof sideField> {}

const ofFeatures = (await statusPartLoaders.load()).flatMap(({ ofGroup = [] }) => ofGroup)

const upstream = field.record({
  ...sideMembers,
  ...Object.fromEntries(ofFeatures.map((each) => [each.key, each.field])),
}) as Field<unknown, unknown> as Field<UpstreamReport, UpstreamStatus>

type Upstreams = Readonly<Record<Group, UpstreamReport>>

export const upstreamsField: Field<Upstreams, Readonly<Record<string, UpstreamStatus>>> = {
  merge: (from, workers) =>
    byGroup((group) => {
      const ofGroup = workers.map((worker) => worker[group])
      return upstream.merge(from[group], ofGroup)
    }),
  show: (all, context) => byGroup((group) => upstream.show(all[group], { ...context, group })),
  decode: asMap(upstream.decode),
  mapCounters: (all, name, change) =>
    byGroup((group) => mapCountersOf(upstream, all[group], `${name}.${group}`, change)),
}

/** The only counters whose names are not fixed from the start: edits may add and close endpoints without end. */
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

export const countInFlight = (upstreams: Upstreams): number =>
  sum(
    groups
      .flatMap((group) => reportedSides<SideReport>(upstreams[group]))
      .flatMap(({ report }) => report.endpoints.map(({ inFlight }) => inFlight)),
  )
