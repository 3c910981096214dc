import type { AddressInfo } from 'node:net'
import { isatty } from 'node:tty'
import type { Config } from '../../core/config/config.ts'
import { divideConnections, processShare } from '../../core/config/process-share.ts'
import { createPseudonym } from '../../core/downstream/listener/downstream-server.ts'
import { now } from '../../core/lib/clock.ts'
import type { BindTarget } from '../../core/lib/net/bind-target.ts'
import { generateSecret } from '../../core/lib/secrets.ts'
import type { Log } from '../../core/log/log.ts'
import { createRejectedConnectionLog } from '../../core/log/rejected-connections.ts'
import { aloneProcess, type FeatureMessage, listHandedOver, receiveAt } from '../../core/runtime/channel.ts'
import type { ServerOptions } from '../../core/runtime/primary-part.ts'
import { primaryFeatures } from '../../core/runtime/primary-parts.ts'
import type { NotServingReason, PreparedSnapshot } from '../../core/runtime/proxy-server.ts'
import type { SnapshotInput } from '../../core/runtime/runtime-part.ts'
import { prepareParts } from '../../core/runtime/runtime-parts.ts'
import { DataPlane, findCommand, type RunInAllProcesses } from '../../core/runtime/snapshot/data-plane.ts'
import { collectReport } from '../../core/runtime/status/report.ts'
import { byGroup } from '../../operations.ts'
import { openAcceptor } from './acceptor.ts'
import { PeerGoneError, ReplyTimeoutError, serializeInput, type WorkerNotification } from './messages.ts'
import { prepareAll, waitUntilLate } from './two-phase-commit.ts'
import { createWorkerStats } from './worker-stats.ts'
import { createWorkerSupervisor } from './worker-supervisor.ts'
import { defaultWorkerTimeouts, type WorkerTimeouts } from './worker-timeouts.ts'

// Unless every worker hangs, accepted connections are handed over within that time.
const handOverTimeoutMs = 1000

// For spans that a worker sends after its deadline.
const exitGraceMs = 1500

interface WorkerPoolOptions extends ServerOptions {
  readonly size: number
  readonly log: Log
  readonly timeouts?: WorkerTimeouts
}

export type WorkerPool = ReturnType<typeof createWorkerPool>

/** Rejects when a worker cannot start or the primary cannot listen, after all workers have ended. */
export const startWorkerPool = async (options: WorkerPoolOptions): Promise<WorkerPool> => {
  await prepareParts(options.initial)
  const pool = createWorkerPool(options)
  try {
    await pool.start(options.bindTarget)
    return pool
  } catch (error) {
    await pool.close(0)
    throw error
  }
}

const createWorkerPool = (options: WorkerPoolOptions) => {
  const { timeouts, running, dataPlane, rejected, acceptor, supervisor, stats, divide, notifyWorkers } =
    assemblePool(options)
  let address: AddressInfo | null = null

  const drain = (): void => {
    running.isDraining = true
    notifyWorkers({ type: 'drain' })
  }
  const runCommand: RunInAllProcesses = async (name, params, urgent) => {
    const command = findCommand(dataPlane, name)
    if (command === null) return { results: [], silent: 0 }
    const serving = supervisor.slots.flatMap(({ worker, isServing }) => (isServing && worker !== null ? [worker] : []))
    const participants = command.runsOnce === true ? serving.slice(0, 1) : serving
    const failLate = async (): Promise<never> => {
      await waitUntilLate(urgent, timeouts)
      throw new ReplyTimeoutError('did not reply, and something urgent waits')
    }
    const replies = await Promise.allSettled(
      participants.map((worker) => Promise.race([worker.command(name, params, timeouts.replyMs), failLate()])),
    )
    const own = command.runsInPrimary === true ? [await command.run(params)] : []
    const silent = replies.filter((each) => each.status === 'rejected' && !(each.reason instanceof PeerGoneError))
    const results = replies.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    return { results: [...own, ...results], silent: silent.length }
  }
  return {
    processes: options.size,
    runCommand,
    drain,
    async start(bindTarget: BindTarget): Promise<void> {
      // Listens before workers serve: a port in use is reported at once. On a socket of systemd, clients wait.
      if ('host' in bindTarget) address = await acceptor.listen(bindTarget)
      await supervisor.start()
      address ??= await acceptor.listen(bindTarget)
    },
    get address(): AddressInfo {
      if (address === null) throw new Error('no listener is open yet')
      return address
    },
    notServing(): NotServingReason | null {
      if (!acceptor.isListening()) return 'not-listening'
      return acceptor.distributor.hasReceiver() ? null : 'no-worker'
    },
    async prepare(next: SnapshotInput, urgent?: Promise<void>): Promise<PreparedSnapshot> {
      const divided = divide(next)
      await prepareParts(divided)
      const state = serializeInput(divided)
      const primarySnapshot = dataPlane.buildNext(divided)
      const workersChange = await prepareAll(supervisor.slots, state, timeouts, urgent).catch(async (error) => {
        await primarySnapshot.retire()
        throw error
      })
      return {
        commit: async () => {
          running.state = state
          dataPlane.currentSnapshot.swap(primarySnapshot)
          acceptor.applyConfig(next.config.listen)
          await workersChange.commit(dataPlane.endpoints.verdicts)
          stats.expire()
        },
        discard: async () => {
          workersChange.discard()
          await primarySnapshot.retire()
        },
      }
    },
    report: (urgent?: Promise<void>) => stats.collect(() => collectReport(dataPlane.currentSnapshot), urgent),
    states: () => stats.workers(running.isDraining),
    droppedLines: stats.droppedLines,
    notify: (message: FeatureMessage) => notifyWorkers({ type: 'notification', message }),
    stopAccepting: acceptor.stopAccepting,
    async close(deadlineMs: number): Promise<void> {
      const startedAt = now()
      drain()
      acceptor.stopAccepting()
      await acceptor.drained(Math.min(handOverTimeoutMs, deadlineMs))
      await supervisor.stop(Math.max(0, deadlineMs - (now() - startedAt)), exitGraceMs)
      await dataPlane.close(0)
      for (const log of Object.values(rejected)) log.close()
    },
  }
}

const assemblePool = ({
  size,
  initial,
  log,
  primary,
  forwardLines,
  timeouts = defaultWorkerTimeouts,
}: WorkerPoolOptions) => {
  // Shared by all workers. The pseudonym shows a loop through two of them.
  const [pseudonym, ticketSecret, digestKey] = [createPseudonym(), generateSecret(), generateSecret()]
  const divide = (state: SnapshotInput): SnapshotInput => ({ ...state, config: perWorkerConfig(state.config, size) })
  const notifyWorkers = (message: WorkerNotification, except?: string): void => {
    for (const { worker } of supervisor.slots) if (worker?.name !== except) worker?.send(message)
  }
  const divided = divide(initial)
  /** `state`: each worker's share. A copy: overrides take effect when all workers have agreed. */
  const running = { state: serializeInput(divided), isDraining: false }
  const dataPlane = new DataPlane(divided, {
    logEvent: (level, event, fields) => log[level](fields, event),
    onVerdict: (verdict) => notifyWorkers({ type: 'verdict', verdict }),
    place: {
      ...aloneProcess,
      role: 'primary',
      name: 'primary',
      workers: size,
      notify: (message, options) => notifyWorkers({ type: 'notification', message }, options?.except),
    },
  })
  const { rejectedConnections: counts } = dataPlane.currentSnapshot.value.telemetry
  const rejected = {
    overLimit: createRejectedConnectionLog(log, 'maxConnections', counts),
    overAddressLimit: createRejectedConnectionLog(log, 'maxConnectionsPerAddress', counts),
  }
  const acceptor = openAcceptor(rejected, timeouts.connectionAckMs)
  acceptor.applyConfig(initial.config.listen)
  const supervisor = createWorkerSupervisor({
    ...{ size, acceptor, log, forwardLines, startMs: timeouts.startMs, hangMs: timeouts.hangMs },
    createInit: () => ({
      type: 'start',
      place: { workers: size, primaryReplyMs: timeouts.primaryReplyMs, saveEveryMs: timeouts.saveEveryMs },
      state: running.state,
      verdicts: dataPlane.endpoints.verdicts,
      handedOver: [...listHandedOver(primary), ...listHandedOver(dataPlane.parts)],
      ...{ pseudonym, ticketSecret, digestKey },
      draining: running.isDraining,
      logsToTerminal: isatty(1),
    }),
    onCall(call, worker) {
      if (call.type === 'ask') return dataPlane.parts[call.message.feature]?.reply?.(call.message.payload)
      const addressKey = acceptor.tracker.acquireFor(worker, call.address)
      if (addressKey === false) rejected.overAddressLimit.record()
      return addressKey
    },
    onNotification(notification, by) {
      receiveAt(primary, notification.message, by.name)
      receiveAt(dataPlane.parts, notification.message, by.name)
    },
    onExit(worker) {
      for (const end of Object.values(primary)) end.onGone?.(worker.name)
      stats.onExit(worker)
      for (const end of Object.values(dataPlane.parts)) end.onGone?.(worker.name)
    },
  })
  const stats = createWorkerStats(supervisor.slots, timeouts)
  return { timeouts, running, dataPlane, rejected, acceptor, supervisor, stats, divide, notifyWorkers }
}

/**
 * Divides the gateway's limits among its workers, rounded up: no worker has a limit of 0. The primary counts
 * connections by address. The hash stays that of the file.
 */
export const perWorkerConfig = (config: Config, workers: number): Config => {
  const { listen, log, upstreams } = config
  const { maxConnections } = listen
  const divided = {
    ...config,
    listen: { ...listen, maxConnections: maxConnections === null ? null : processShare(maxConnections, workers) },
    log: { ...log, buffer: processShare(log.buffer, workers) },
    upstreams: byGroup((group) => divideConnections(upstreams[group], workers)),
  }
  return [...primaryFeatures.values()].reduce<Config>((next, { divide }) => divide?.(next, workers) ?? next, divided)
}
