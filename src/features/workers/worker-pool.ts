import type { AddressInfo } from 'node:net'
import { isatty } from 'node:tty'
import type { Config } from '../../core/config/config.ts'
import { divideConnections, processShare } from '../../core/config/process-share.ts'
import { createPseudonym } from '../../core/downstream/listener/downstream-server.ts'
import { now } from '../../core/lib/clock.ts'
import type { BindTarget } from '../../core/lib/net/bind-target.ts'
import { generateSecret } from '../../core/lib/secrets.ts'
import type { Log } from '../../core/log/log.ts'
import { createRejectedConnectionLog, type RejectedConnectionLog } from '../../core/log/rejected-connections.ts'
import { aloneProcess, type FeatureMessage, listHandedOver, receiveAt } from '../../core/runtime/channel.ts'
import type { ServerOptions } from '../../core/runtime/primary-part.ts'
import { primaryFeatures } from '../../core/runtime/primary-parts.ts'
import type { NotServingReason, PreparedSnapshot, ProxyServer } from '../../core/runtime/proxy-server.ts'
import type { SnapshotInput } from '../../core/runtime/runtime-part.ts'
import { DataPlane, findCommand, type RunInAllProcesses } from '../../core/runtime/snapshot/data-plane.ts'
import { collectReport } from '../../core/runtime/status/report.ts'
import type { StatusReport } from '../../core/runtime/status/status-part.ts'
import { byGroup } from '../../operations.ts'
import { type Acceptor, openAcceptor } from './acceptor.ts'
import type { WorkerStatus } from './admin.ts'
import {
  PeerGoneError,
  type PrimaryCall,
  type PrimaryCallResult,
  ReplyTimeoutError,
  type SerializedSnapshotInput,
  serializeInput,
  type WorkerNotification,
} from './messages.ts'
import { prepareAll, waitUntilLate } from './two-phase-commit.ts'
import type { WorkerProcess } from './worker-process.ts'
import { createWorkerStats, type WorkerStats } from './worker-stats.ts'
import { createWorkerSupervisor, type WorkerSupervisor } from './worker-supervisor.ts'
import { defaultWorkerTimeouts, type WorkerTimeouts } from './worker-timeouts.ts'

// Accepted connections are handed over within that time, unless every worker hangs.
const handOverTimeoutMs = 1000

// After its deadline a worker sends the remaining spans, and exits.
const exitGraceMs = 1500

interface WorkerPoolOptions extends ServerOptions {
  readonly size: number
  readonly log: Log
  readonly timeouts?: WorkerTimeouts
}

/** Rejects when a worker cannot start or the primary cannot listen; no worker is left then. */
export const startWorkerPool = async (options: WorkerPoolOptions): Promise<WorkerPool> => {
  const pool = new WorkerPool(options)
  try {
    await pool.start(options.bindTarget)
    return pool
  } catch (error) {
    await pool.close(0)
    throw error
  }
}

export class WorkerPool implements ProxyServer {
  readonly processes: number
  readonly #timeouts: WorkerTimeouts
  readonly #dataPlane: DataPlane
  readonly #acceptor: Acceptor
  readonly #rejected: Readonly<Record<'overLimit' | 'overAddressLimit', RejectedConnectionLog>>
  readonly #supervisor: WorkerSupervisor
  readonly #stats: WorkerStats
  /** In effect, divided among the workers. A copy: overrides take effect only when all workers have agreed. */
  #state: SerializedSnapshotInput
  #address: AddressInfo | null = null
  #draining = false

  constructor({ size, initial, log, primary, forwardLines, timeouts = defaultWorkerTimeouts }: WorkerPoolOptions) {
    // Shared by all workers. By the pseudonym, a loop through two of them is detected.
    const [pseudonym, ticketSecret, digestKey] = [createPseudonym(), generateSecret(), generateSecret()]
    this.processes = size
    this.#timeouts = timeouts
    const state = this.#divide(initial)
    this.#state = serializeInput(state)
    this.#dataPlane = new DataPlane(state, {
      logEvent: (level, event, fields) => log[level](fields, event),
      onVerdict: (verdict) => this.#notifyWorkers({ type: 'verdict', verdict }),
      place: {
        ...aloneProcess,
        role: 'primary',
        name: 'primary',
        workers: size,
        notify: (message, options) => this.#notifyWorkers({ type: 'told', message }, options?.except),
      },
    })
    const { rejectedConnections: counts } = this.#dataPlane.currentSnapshot.value.telemetry
    this.#rejected = {
      overLimit: createRejectedConnectionLog(log, 'maxConnections', counts),
      overAddressLimit: createRejectedConnectionLog(log, 'maxConnectionsPerAddress', counts),
    }
    this.#acceptor = openAcceptor(this.#rejected, timeouts.connectionAckMs)
    this.#acceptor.applyConfig(initial.config.listen)
    this.#supervisor = createWorkerSupervisor({
      size,
      startMs: timeouts.startMs,
      hangMs: timeouts.hangMs,
      acceptor: this.#acceptor,
      log,
      forwardLines,
      createInit: () => ({
        type: 'start',
        place: { workers: size, answerMs: timeouts.answerMs, saveEveryMs: timeouts.saveEveryMs },
        state: this.#state,
        verdicts: this.#dataPlane.endpoints.verdicts,
        handedOver: [...listHandedOver(primary), ...listHandedOver(this.#dataPlane.parts)],
        pseudonym,
        ticketSecret,
        digestKey,
        draining: this.#draining,
        logsToTerminal: isatty(1),
      }),
      onCall: (call, worker) => this.#replyTo(call, worker),
      onNotification: (told, by) => {
        receiveAt(primary, told.message, by.name)
        receiveAt(this.#dataPlane.parts, told.message, by.name)
      },
      onExit: (worker) => {
        for (const end of Object.values(primary)) end.onGone?.(worker.name)
        this.#stats.onExit(worker)
        for (const end of Object.values(this.#dataPlane.parts)) end.onGone?.(worker.name)
      },
    })
    this.#stats = createWorkerStats(this.#supervisor.slots, timeouts)
  }

  async start(bindTarget: BindTarget): Promise<void> {
    // A port in use is reported at once. On a socket of systemd's, clients wait until workers serve.
    if ('host' in bindTarget) this.#address = await this.#acceptor.listen(bindTarget)
    await this.#supervisor.start()
    this.#address ??= await this.#acceptor.listen(bindTarget)
  }

  get address(): AddressInfo {
    if (this.#address === null) throw new Error('nobody listens yet')
    return this.#address
  }

  notServing(): NotServingReason | null {
    if (!this.#acceptor.isListening()) return 'not-listening'
    return this.#acceptor.distributor.hasReceiver() ? null : 'no-worker'
  }

  async prepare(next: SnapshotInput, urgent?: Promise<void>): Promise<PreparedSnapshot> {
    const divided = this.#divide(next)
    const state = serializeInput(divided)
    const primarySnapshot = this.#dataPlane.buildNext(divided)
    const preparing = prepareAll(this.#supervisor.slots, state, this.#timeouts, urgent)
    const workersChange = await preparing.catch(async (error) => {
      await primarySnapshot.retire()
      throw error
    })
    return {
      commit: async () => {
        this.#state = state
        this.#dataPlane.currentSnapshot.swap(primarySnapshot)
        this.#acceptor.applyConfig(next.config.listen)
        await workersChange.commit(this.#dataPlane.endpoints.verdicts)
        this.#stats.expire()
      },
      discard: async () => {
        workersChange.discard()
        await primarySnapshot.retire()
      },
    }
  }

  report(urgent?: Promise<void>): Promise<StatusReport> {
    return this.#stats.collect(() => collectReport(this.#dataPlane.currentSnapshot), urgent)
  }

  get states(): readonly WorkerStatus[] {
    return this.#stats.workers(this.#draining)
  }

  droppedLines(): number {
    return this.#stats.droppedLines()
  }

  readonly runCommand: RunInAllProcesses = async (name, params, urgent) => {
    const command = findCommand(this.#dataPlane, name)
    const participants = command.runsOnce === true ? this.#servingWorkers.slice(0, 1) : this.#servingWorkers
    const failLate = async (): Promise<never> => {
      await waitUntilLate(urgent, this.#timeouts)
      throw new ReplyTimeoutError('did not answer, and something urgent waits')
    }
    const replies = await Promise.allSettled(
      participants.map((worker) => Promise.race([worker.command(name, params, this.#timeouts.replyMs), failLate()])),
    )
    const own = command.runsInPrimary === true ? [await command.run(params)] : []
    const unanswered = replies.filter((each) => each.status === 'rejected' && !(each.reason instanceof PeerGoneError))
    const results = replies.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    return { results: [...own, ...results], unanswered: unanswered.length }
  }

  notify(message: FeatureMessage): void {
    this.#notifyWorkers({ type: 'told', message })
  }

  drain(): void {
    this.#draining = true
    this.#notifyWorkers({ type: 'drain' })
  }

  stopAccepting(): void {
    this.#acceptor.stopAccepting()
  }

  async close(deadlineMs: number): Promise<void> {
    const startedAt = now()
    this.drain()
    this.#acceptor.stopAccepting()
    await this.#acceptor.drained(Math.min(handOverTimeoutMs, deadlineMs))
    await this.#supervisor.stop(Math.max(0, deadlineMs - (now() - startedAt)), exitGraceMs)
    await this.#dataPlane.close(0)
    for (const log of Object.values(this.#rejected)) log.close()
  }

  #replyTo(call: PrimaryCall, worker: WorkerProcess): PrimaryCallResult {
    if (call.type === 'ask') return this.#dataPlane.parts[call.message.feature]?.answer?.(call.message.payload)
    const addressKey = this.#acceptor.tracker.acquireFor(worker, call.address)
    if (addressKey === false) this.#rejected.overAddressLimit.record()
    return addressKey
  }

  get #servingWorkers(): readonly WorkerProcess[] {
    return this.#supervisor.slots.flatMap(({ worker, isServing }) => (isServing && worker !== null ? [worker] : []))
  }

  #notifyWorkers(message: WorkerNotification, except?: string): void {
    for (const { worker } of this.#supervisor.slots) if (worker?.name !== except) worker?.send(message)
  }

  #divide(state: SnapshotInput): SnapshotInput {
    return { ...state, config: perWorkerConfig(state.config, this.processes) }
  }
}

/**
 * Divides the limits of the whole gateway among its workers, rounded up, so that each worker has at least one of
 * everything. The primary counts the connections of an address. The hash stays: it names the file's content.
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
