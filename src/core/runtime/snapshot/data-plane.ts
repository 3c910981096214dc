import { byGroup, byOperation } from '../../../operations.ts'
import { settlesWithin } from '../../lib/clock.ts'
import { generateSecret } from '../../lib/secrets.ts'
import type { Log, LogEvent } from '../../log/log.ts'
import type { Endpoint } from '../../upstream/endpoints/endpoint.ts'
import {
  EndpointRegistry,
  type HealthVerdict,
  isSide,
  type OnHealthVerdict,
} from '../../upstream/endpoints/endpoint-registry.ts'
import { openUpstream } from '../../upstream/upstream.ts'
import { aloneProcess, type ProcessPlace } from '../channel.ts'
import { findDrain, toEndpointKey } from '../overrides.ts'
import { composeLayers } from '../pipeline/compose-layers.ts'
import { createProcessTelemetry, listObservers, type ProcessTelemetry } from '../pipeline/observers.ts'
import type {
  DataPlaneCommand,
  DataPlaneCommands,
  ProcessParts,
  SnapshotContext,
  SnapshotInput,
  SnapshotPart,
} from '../runtime-part.ts'
import { acquireParts, firstOf, listUsedParts, openParts, prepareParts } from '../runtime-parts.ts'
import { CurrentSnapshot, carryBreakers, createSnapshot, type Snapshot } from './snapshot.ts'

interface DataPlaneDeps {
  readonly logEvent: LogEvent
  readonly onVerdict?: OnHealthVerdict
  readonly initialVerdicts?: readonly HealthVerdict[]
  readonly place?: ProcessPlace
  readonly log?: Log
  /** Processes compare digests made with it. Default: a new key. */
  readonly digestKey?: string
}

export const createDataPlane = async (first: SnapshotInput, deps: DataPlaneDeps): Promise<DataPlane> => {
  await prepareParts(first)
  const dataPlane = new DataPlane(first, deps)
  await settleParts(dataPlane.currentSnapshot.value)
  return dataPlane
}

// The longest delay of a start or an edit by a silent Redis. Connecting takes milliseconds.
const maxSettleMs = 1000

// An exporter of spans sends the rest within a second, or drops it.
const maxFlushMs = 1250

/** Without this wait, a snapshot's first requests would be rejected. */
export const settleParts = async ({ parts }: Pick<Snapshot, 'parts'>): Promise<void> => {
  const settled = Object.values(parts).flatMap((part) => part.settled ?? [])
  if (settled.length > 0) await settlesWithin(maxSettleMs, Promise.all(settled))
}

export class DataPlane {
  readonly endpoints: EndpointRegistry
  readonly telemetry: ProcessTelemetry
  readonly parts: ProcessParts = {} as ProcessParts
  readonly currentSnapshot: CurrentSnapshot
  readonly #openParts: (input: SnapshotInput) => void

  constructor(
    first: SnapshotInput,
    {
      logEvent,
      onVerdict,
      initialVerdicts = [],
      place = aloneProcess,
      log,
      digestKey = generateSecret(),
    }: DataPlaneDeps,
  ) {
    this.endpoints = new EndpointRegistry(logEvent, onVerdict)
    this.telemetry = createProcessTelemetry(log ?? null, place.name)
    const process = { place, ...this.telemetry, digestKey, logEvent }
    this.#openParts = (input) => openParts(process, listUsedParts(input), this.parts)
    this.#openParts(first)
    for (const verdict of initialVerdicts) this.endpoints.applyVerdict(verdict)
    this.currentSnapshot = new CurrentSnapshot(buildSnapshot(first, null, this))
  }

  buildNext(state: SnapshotInput): Snapshot {
    this.#openParts(state)
    return buildSnapshot(state, this.currentSnapshot.value, this)
  }

  async close(deadlineMs: number): Promise<void> {
    for (const part of Object.values(this.parts)) part.close?.()
    const closed = this.currentSnapshot.close()
    if (await settlesWithin(deadlineMs, closed)) return
    // Aborts requests that wait for their next attempt, and so have no endpoint.
    for (const part of Object.values(this.parts)) part.cut?.()
    await this.endpoints.destroy(new Error('shut down'))
    await settlesWithin(maxFlushMs, closed)
  }
}

export type SharedResources = Pick<DataPlane, 'endpoints' | 'telemetry' | 'parts'>

/**
 * If it throws, it has released everything that it acquired. State learned for `previous` is kept where the settings
 * that shape it are the same.
 */
export const buildSnapshot = (input: SnapshotInput, previous: Snapshot | null, shared: SharedResources): Snapshot => {
  const { config, overrides } = input
  const { endpoints, telemetry, parts: opened } = shared
  const breakers = carryBreakers(config, previous)
  const acquired: Endpoint[] = []
  const acquiredParts: Record<string, SnapshotPart> = {}
  const release = async (): Promise<void> => {
    const released = Object.values(acquiredParts).map((part) => part.release?.())
    await Promise.all([...acquired.map((endpoint) => endpoints.release(endpoint)), ...released])
  }
  try {
    const open = upstreamOpener(input, shared, acquired)
    const upstreams = byGroup((group) => open(group, 'primary', config.upstreams[group], breakers[group]))
    const parts = acquireParts(opened, input, previous?.parts ?? null, { upstreams, openUpstream: open }, acquiredParts)
    const features = Object.values(parts)
    const handlers = byOperation((operation) => {
      const { id, group } = operation
      const send = firstOf(parts, (part) => part.send?.(group)) ?? upstreams[group].send
      const options = { operation, config, features, requestMetrics: telemetry.requestMetrics }
      return composeLayers(options, send, overrides.operations.get(id))
    })
    const others = byGroup((group) => firstOf(parts, (part) => part.others?.[group]))
    const observers = listObservers(config, telemetry, features)
    return createSnapshot({ config, parts, handlers, upstreams, others, telemetry, observers }, release)
  } catch (error) {
    void release()
    throw error
  }
}

const upstreamOpener =
  (
    { config, overrides, sandboxOrigin }: SnapshotInput,
    { endpoints, telemetry, parts }: SharedResources,
    acquired: Endpoint[],
  ): SnapshotContext['openUpstream'] =>
  (group, use, upstream, breaker) => {
    const { response } = upstream
    const ownField = firstOf(parts, (part) => part.ownResponseField?.(config, group))
    const settings =
      ownField === null ? upstream : { ...upstream, response: { ...response, remove: [...response.remove, ownField] } }
    return openUpstream(settings, {
      open: (endpoint) => {
        const opened = endpoints.acquire(group, use, endpoint, upstream, sandboxOrigin ?? '')
        acquired.push(opened)
        return opened
      },
      use: (endpoint) => endpoints.use(endpoint),
      drainedBy: ({ origin, pathPrefix, drain }) =>
        findDrain(overrides.endpoints, toEndpointKey(group, origin + pathPrefix), drain),
      breaker,
      logEvent: endpoints.logFor(group, use),
      onFailure:
        config.metrics === null || !isSide(use)
          ? () => {}
          : (attempt, { operation }) =>
              telemetry.requestMetrics.operations[operation.id].countFailedAttempt(attempt, use),
    })
  }

type Command<Name extends keyof DataPlaneCommands> = DataPlaneCommand & {
  run(params: DataPlaneCommands[Name]['params']): Promise<DataPlaneCommands[Name]['result']>
}

const ownCommands = ({ upstreams, others }: Snapshot): Partial<Record<string, DataPlaneCommand>> => ({
  uneject: {
    async run({ group, url }: DataPlaneCommands['uneject']['params']) {
      for (const member of [...upstreams[group].members, ...(others[group]?.members ?? [])])
        if (member.name === url) member.health.uneject()
    },
  },
})

export const findCommand = <Name extends keyof DataPlaneCommands>(
  { currentSnapshot: { value: snapshot } }: DataPlane,
  name: Name,
): Command<Name> | null => {
  const all = [ownCommands(snapshot), ...Object.values(snapshot.parts).map(({ commands = {} }) => commands)]
  const found = all.map((commands) => commands[name]).find((command) => command !== undefined)
  return (found ?? null) as Command<Name> | null
}

export const runInProcess = async <Name extends keyof DataPlaneCommands>(
  dataPlane: DataPlane,
  name: Name,
  params: DataPlaneCommands[Name]['params'],
): Promise<readonly DataPlaneCommands[Name]['result'][]> => {
  const command = findCommand(dataPlane, name)
  return command === null ? [] : [await command.run(params)]
}

/** In every process that serves clients, or in one if that is enough; after `urgent` resolves, in those that reply. */
export type RunInAllProcesses = <Name extends keyof DataPlaneCommands>(
  name: Name,
  params: DataPlaneCommands[Name]['params'],
  urgent?: Promise<void>,
) => Promise<{
  /** One for each process that replied. A process that has ended needs no command. */
  readonly results: readonly DataPlaneCommands[Name]['result'][]
  /** How many processes did not reply. */
  readonly silent: number
}>
