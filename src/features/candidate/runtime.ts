import type { Config, UpstreamConfig } from '../../core/config/config.ts'
import { askFacts, clientIpv6Prefix, credentialFields } from '../../core/config/config-facts.ts'
import { hashValue } from '../../core/config/transfer-parts.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { epochMs } from '../../core/lib/clock.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart, SnapshotContext, SnapshotInput, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import { carryBreaker } from '../../core/runtime/snapshot/snapshot.ts'
import type { Upstream } from '../../core/upstream/upstream.ts'
import { byGroup, type Group, groups, type Operation } from '../../operations.ts'
import { createDeferredWork } from '../contract/check-queue.ts'
import { type CandidateUse, findCandidateUse, formatCandidateUse } from './candidate-clients.ts'
import type { CandidateShadowConfig } from './config/candidate.ts'
import { formatGuard, guardLayer } from './layers/guard.ts'
import { formatShadow, markerLayer, openShadow, shadowLayer } from './layers/shadow.ts'
import { createShadowCopies, type ShadowCopies } from './layers/shadow-copies.ts'
import { sideLayer } from './layers/side.ts'
import { createSend } from './layers/split-send.ts'
import { type ComparisonCounts, createComparisonCounts } from './observe/comparison-counts.ts'
import { createGuardReporter, type GuardReporter } from './observe/guard/guard-counts.ts'
import { copiesOf } from './observe/shadow-kinds.ts'
import { beginRecord, listShiftPlans } from './shift/shift-record.ts'
import { guardEra, type ShiftState, toShiftState } from './shift/shift-state.ts'

interface CandidatePart extends SnapshotPart {
  readonly upstreams: Readonly<Record<Group, UpstreamConfig | null>>
  readonly others: Readonly<Record<Group, Upstream | null>>
  readonly copies: Readonly<Record<Group, ShadowCopies>>
  readonly comparisons: Readonly<Record<Group, ComparisonCounts | null>>
}

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly candidate?: CandidatePart
  }
}

interface GroupParts {
  readonly use: CandidateUse | null
  createShadow(rules: CandidateShadowConfig): Layer | null
  readonly guard: Layer | null
}

const layerRows = (
  operation: Operation,
  config: Config,
  { use, createShadow, guard }: GroupParts,
): readonly LayerRow[] => {
  const { group } = operation
  const { candidate } = config.upstreams[group]
  if (candidate === null) return []
  const { shadow } = candidate
  const key = `upstreams.${group}.candidate`
  return [
    layerRow('side', `${key}.share`, use, formatCandidateUse, (each) =>
      sideLayer({ ...each, group, ipv6Prefix: clientIpv6Prefix(config), expose: candidate.expose }),
    ),
    ...(shadow === null
      ? []
      : [
          layerRow('shadow-marker', `${key}.shadow.marker`, shadow.marker, String, markerLayer),
          layerRow('shadow', `${key}.shadow`, copiesOf(operation, shadow), formatShadow, createShadow),
        ]),
    layerRow('guard', `${key}.guard`, candidate.guard, formatGuard, () => guard),
  ]
}

/** Of a gateway that starts with this file now. */
export const shiftOfFile = (config: Config, group: Group): ShiftState | null => {
  const plan = listShiftPlans(config)[group]
  const epoch = epochMs()
  return plan === undefined ? null : toShiftState(beginRecord(plan, epoch), plan, epoch)
}

/** In place of a layer that needs traffic. */
const noLayer: Layer = (next) => next

export const describe: RuntimePart['describe'] = (config) => ({
  layers(operation) {
    const { group } = operation
    const use = findCandidateUse(config.upstreams[group].candidate, shiftOfFile(config, group))
    return layerRows(operation, config, { use, createShadow: () => noLayer, guard: use && noLayer })
  },
})

const findUse = ({ config, overrides }: SnapshotInput, group: Group): CandidateUse | null =>
  findCandidateUse(config.upstreams[group].candidate, overrides.shifts?.get(group) ?? null)

export const open: RuntimePart['open'] = ({ channel, log, digestKey }) => {
  const deferred = () =>
    createDeferredWork((err) => {
      if (log !== null) log.error({ err }, 'copy for a candidate failed')
    })
  const [sending, comparing] = [deferred(), deferred()]
  const copies = byGroup(() => createShadowCopies(sending, comparing))
  const guards = createGuardReporter((reports) => channel.notify(reports))
  return {
    findOtherSide: (input, group) => findUse(input, group) && input.config.upstreams[group].candidate,
    ownResponseField: ({ upstreams }, group) => upstreams[group].candidate?.expose ?? null,
    acquire: (input, previous, context) =>
      acquireCandidates(input, previous as CandidatePart | null, context, copies, guards, digestKey),
    close() {
      for (const each of Object.values(copies)) each.stop()
      guards.close()
    },
  }
}

const acquireCandidates = (
  input: SnapshotInput,
  previous: CandidatePart | null,
  { upstreams: primaries, openUpstream }: SnapshotContext,
  copies: CandidatePart['copies'],
  guards: GuardReporter,
  digestKey: string,
): CandidatePart => {
  const { config } = input
  const { shifts } = input.overrides
  const upstreams = byGroup((group) => config.upstreams[group].candidate?.upstream ?? null)
  const { breakers, comparisons } = carryOver(config, previous, digestKey)
  const others = byGroup((group) => {
    const upstream = upstreams[group]
    return upstream && openUpstream(group, 'candidate', upstream, breakers[group])
  })
  const shadows = byGroup((group) => {
    const { candidate } = config.upstreams[group]
    const running = others[group]
    if (candidate === null || running === null || shifts?.get(group)?.isStopped === true) return null
    return openShadow(candidate, {
      sides: { primary: primaries[group], candidate: running },
      primary: config.upstreams[group],
      open: (use, upstream) => openUpstream(group, use, upstream, null),
      ...{ copies: copies[group], comparison: comparisons[group] },
    })
  })
  const copied = {
    credentialFields: credentialFields(config),
    keptFields: Object.values(config.operations).flatMap((each) => askFacts((facts) => facts.keyFields?.(each))),
    requestIdField: config.requestId.header?.toLowerCase() ?? null,
  }
  const ofGroups = byGroup((group): GroupParts => {
    const use = findUse(input, group)
    const [shadow, members] = [shadows[group], others[group]?.members ?? []]
    // While operators drain the whole candidate, its clients fall back: no fault of the candidate.
    const isGuarded = config.upstreams[group].candidate?.guard && members.some(({ receivesTraffic }) => receivesTraffic)
    const createGuard = (): Layer =>
      guardLayer(guards.open(group, guardEra(shifts?.get(group))), clientIpv6Prefix(config), members)
    return {
      use,
      createShadow: (rules) => shadow && shadowLayer({ ...shadow, ...rules, ...copied }),
      guard: use && (isGuarded ? createGuard() : noLayer),
    }
  })
  return {
    ...{ upstreams, others, copies, comparisons },
    layers: (operation) => layerRows(operation, config, ofGroups[operation.group]),
    responseFields({ group }) {
      const { candidate } = config.upstreams[group]
      return candidate?.expose && ofGroups[group].use
        ? [{ name: candidate.expose.toLowerCase(), isReplaced: true }]
        : []
    },
    send: (group) =>
      createSend(primaries[group], others[group], config.upstreams[group].candidate, ofGroups[group].use),
    activate() {
      for (const group of groups)
        copies[group].applyBounds(shadows[group] && (config.upstreams[group].candidate?.shadow ?? null))
    },
  }
}

/** A separate function, so that no closure keeps the previous snapshot alive. */
const carryOver = (config: Config, previous: CandidatePart | null, digestKey: string) => ({
  breakers: byGroup((group) => {
    const { candidate } = config.upstreams[group]
    return carryBreaker(candidate?.upstream, previous?.upstreams[group] ?? undefined, previous?.others[group])
  }),
  comparisons: byGroup((group) =>
    continueComparison(config.upstreams[group], previous?.comparisons[group] ?? null, digestKey),
  ),
})

/** Continues while the sides and the rules are the same, whatever the share or the sample. */
const continueComparison = (
  upstream: UpstreamConfig,
  before: ComparisonCounts | null,
  key: string,
): ComparisonCounts | null => {
  const { candidate } = upstream
  const compare = candidate?.shadow?.compare
  if (!candidate?.shadow || !compare) return null
  const { minEqual: _, ...rules } = compare
  const options = { ...rules, maxBody: candidate.shadow.maxBody }
  const digest = hashValue([options, respondingSide(upstream), respondingSide(candidate.upstream)])
  return before?.digest === digest ? before : createComparisonCounts(digest, options, key)
}

const respondingSide = ({ endpoints: all, host, request, response }: UpstreamConfig): unknown => {
  const endpoints = all.map(({ origin, pathPrefix }) => origin + pathPrefix)
  return { endpoints, host, request, response }
}
