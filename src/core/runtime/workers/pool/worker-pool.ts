import type { AddressInfo } from 'node:net'
import { isatty } from 'node:tty'
import type { NotServingReason } from '../../../admin/admin-context.ts'
import { createTicketSecret } from '../../../downstream/tls/session-tickets.ts'
import { now } from '../../../lib/clock.ts'
import type { BindTarget } from '../../../lib/net/bind-target.ts'
import { generateSecret } from '../../../lib/secrets.ts'
import type { Log } from '../../../log/log.ts'
import { createRejectedConnectionLog, type RejectedConnectionLog } from '../../../log/rejected-connections.ts'
import { aloneProcess, type FeatureMessage } from '../../channel.ts'
import type { OpenPrimaryParts } from '../../primary-parts.ts'
import type { SnapshotInput } from '../../runtime-part.ts'
import { DataPlane } from '../../snapshot/data-plane.ts'
import { findCommand, type RunInAllProcesses } from '../../snapshot/data-plane-commands.ts'
import { collectReport, type StatusReport } from '../../status/report.ts'
import type { WorkerStatus } from '../../status/worker.ts'
import { Acceptor } from '../accept/acceptor.ts'
import {
  type PrimaryCall,
  type PrimaryCallResult,
  type SerializedSnapshotInput,
  serializeInput,
  type WorkerNotification,
} from '../ipc/messages.ts'
import { PeerGoneError, ReplyTimeoutError } from '../ipc/rpc.ts'
import type { PreparedSnapshot, ProxyServer } from '../proxy-server.ts'
import { perWorkerConfig } from './divide-limits.ts'
import { WorkerSupervisor } from './supervisor.ts'
import { prepareAll } from './two-phase-commit.ts'
import type { WorkerProcess } from './worker-process.ts'
import { WorkerStats } from './worker-stats.ts'
import { defaultWorkerTimeouts, type WorkerTimeouts, waitUntilLate } from './worker-timeouts.ts'

// Connections that were accepted before are handed over within that, unless every worker hangs.
const handOverTimeoutMs = 1000

// After its deadline a worker sends the spans that wait, and exits.
const exitGraceMs = 1500

interface WorkerPoolOptions {
  readonly size: number
  /** The first state; its limits are of the whole gateway. */
  readonly initial: SnapshotInput
  readonly bindTarget: BindTarget
  /** The gateway's name in `Via`: one for all workers, or a loop through two of them would go round once more. */
  readonly pseudonym: string
  readonly log: Log
  readonly primary: Pick<OpenPrimaryParts, 'receive' | 'handOver' | 'onGone'>
  /** Writes whole log lines of workers. */
  forwardLines(lines: Buffer): void
  readonly timeouts: WorkerTimeouts | undefined
}

/**
 * Serves clients from several processes. Rejects when a worker cannot start, or the primary cannot listen; none is left
 * then.
 */
export const startWorkerPool = async (options: WorkerPoolOptions): Promise<ProxyServer> => {
  const pool = new WorkerPool(options)
  try {
    await pool.start(options.bindTarget)
    return pool
  } catch (error) {
    await pool.close(0)
    throw error
  }
}

/**
 * The primary and its workers. They serve; it accepts, probes, supervises and keeps the same configuration in all of
 * them.
 */
class WorkerPool implements ProxyServer {
  readonly #size: number
  readonly #timeouts: WorkerTimeouts
  readonly #dataPlane: DataPlane
  readonly #acceptor: Acceptor
  readonly #overLimit: RejectedConnectionLog
  readonly #overAddressLimit: RejectedConnectionLog
  readonly #supervisor: WorkerSupervisor
  readonly #stats: WorkerStats
  /**
   * The state in effect, divided among the workers. A copy, because overrides take effect only when all workers have
   * agreed.
   */
  #state: SerializedSnapshotInput
  #address: AddressInfo | null = null
  #draining = false

  constructor({
    size,
    initial,
    pseudonym,
    log,
    primary,
    forwardLines,
    timeouts = defaultWorkerTimeouts,
  }: WorkerPoolOptions) {
    const ticketSecret = createTicketSecret()
    const digestKey = generateSecret()
    this.#size = size
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
    this.#overLimit = createRejectedConnectionLog(log, 'maxConnections', counts)
    this.#overAddressLimit = createRejectedConnectionLog(log, 'maxConnectionsPerAddress', counts)
    this.#acceptor = new Acceptor(
      { overLimit: this.#overLimit, overAddressLimit: this.#overAddressLimit },
      timeouts.connectionAckMs,
    )
    this.#acceptor.applyConfig(initial.config.listen)
    this.#supervisor = new WorkerSupervisor({
      size,
      startMs: timeouts.startMs,
      hangMs: timeouts.hangMs,
      distributor: this.#acceptor.distributor,
      tracker: this.#acceptor.tracker,
      log,
      forwardLines,
      createInit: () => ({
        type: 'start',
        place: { workers: size, answerMs: timeouts.answerMs, saveEveryMs: timeouts.saveEveryMs },
        state: this.#state,
        verdicts: this.#dataPlane.verdicts,
        handedOver: [...primary.handOver(), ...this.#dataPlane.handOver()],
        pseudonym,
        ticketSecret,
        digestKey,
        draining: this.#draining,
        logsToTerminal: isatty(1),
      }),
      onCall: (call, worker) => this.#replyTo(call, worker),
      onNotification: (told, by) => {
        primary.receive(told.message, by.name)
        this.#dataPlane.receive(told.message, by.name)
      },
      onExit: (worker) => {
        primary.onGone(worker.name)
        this.#stats.onExit(worker)
        this.#dataPlane.onGone(worker.name)
      },
    })
    this.#stats = new WorkerStats(this.#supervisor.slots, timeouts)
  }

  async start(bindTarget: BindTarget): Promise<void> {
    // A port in use is reported at once. In a socket of systemd's, clients wait until workers serve, also those that
    // came before this process.
    if ('host' in bindTarget) this.#address = await this.#acceptor.listen(bindTarget)
    await this.#supervisor.start()
    this.#address ??= await this.#acceptor.listen(bindTarget)
  }

  get address(): AddressInfo {
    if (this.#address === null) throw new Error('nobody listens yet')
    return this.#address
  }

  notServing(): NotServingReason | null {
    if (!this.#acceptor.isListening) return 'not-listening'
    return this.#acceptor.distributor.hasReceiver ? null : 'no-worker'
  }

  async prepare(next: SnapshotInput, urgent?: Promise<void>): Promise<PreparedSnapshot> {
    const divided = this.#divide(next)
    const state = serializeInput(divided)
    const primarySnapshot = this.#dataPlane.buildNext(divided)
    const workersChange = await prepareAll(this.#supervisor.slots, state, this.#timeouts, urgent).catch(
      async (error) => {
        await primarySnapshot.retire()
        throw error
      },
    )
    return {
      commit: async () => {
        this.#state = state
        this.#dataPlane.currentSnapshot.swap(primarySnapshot)
        this.#acceptor.applyConfig(next.config.listen)
        await workersChange.commit(this.#dataPlane.verdicts)
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

  workers(): readonly WorkerStatus[] {
    return this.#stats.workers(this.#draining)
  }

  droppedLines(): number {
    return this.#stats.droppedLines
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
    return {
      results: [...own, ...replies.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))],
      unanswered: replies.filter((each) => each.status === 'rejected' && !(each.reason instanceof PeerGoneError))
        .length,
    }
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
    this.#overLimit.close()
    this.#overAddressLimit.close()
  }

  #replyTo(call: PrimaryCall, worker: WorkerProcess): PrimaryCallResult {
    if (call.type === 'ask') return this.#dataPlane.answer(call.message)
    const addressKey = this.#acceptor.tracker.acquireFor(worker, call.address)
    if (addressKey === false) this.#overAddressLimit.record()
    return addressKey
  }

  get #servingWorkers(): readonly WorkerProcess[] {
    return this.#supervisor.slots.flatMap(({ worker, isServing }) => (isServing && worker !== null ? [worker] : []))
  }

  #notifyWorkers(message: WorkerNotification, except?: string): void {
    for (const { worker } of this.#supervisor.slots) if (worker?.name !== except) worker?.send(message)
  }

  #divide(state: SnapshotInput): SnapshotInput {
    return { ...state, config: perWorkerConfig(state.config, this.#size) }
  }
}
