/** Serves clients in a process of its own. The primary forks it and sends it everything (messages.ts). */
import '../installed.ts'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { serveInProcess } from '../../core/downstream/serve-in-process.ts'
import { now, settlesWithin } from '../../core/lib/clock.ts'
import { collectStartupGarbage, tuneHeap } from '../../core/lib/heap.ts'
import { exitProcess } from '../../core/lib/program.ts'
import { SerialQueue } from '../../core/lib/serial-queue.ts'
import { errorMessage } from '../../core/lib/try.ts'
import { applyLogConfig, exitOnUncaughtException, openLog } from '../../core/log/log.ts'
import type { LoggingConfig } from '../../core/log/log-format.ts'
import { receiveAt } from '../../core/runtime/channel.ts'
import type { PreparedSnapshot } from '../../core/runtime/proxy-server.ts'
import { createDataPlane, type DataPlane, findCommand } from '../../core/runtime/snapshot/data-plane.ts'
import {
  deserializeInput,
  type MessageToPrimary,
  type MessageToWorker,
  PendingCalls,
  type PrimaryCall,
  type PrimaryCalls,
  type WorkerCall,
  type WorkerInit,
  type WorkerNotification,
} from './messages.ts'

tuneHeap()
collectStartupGarbage()

// A terminal and some supervisors signal every process of a group. The primary handles the signal and tells the
// workers.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

// No new client and no operator could reach a worker without its primary.
process.on('disconnect', () => exitProcess(1))
if (!process.connected) process.exit(1)

const sendToPrimary = (message: MessageToPrimary, done = () => {}): void => {
  if (process.connected) process.send?.(message, undefined, undefined, done)
}

const startRuntime = (start: WorkerInit): Promise<WorkerRuntime> =>
  new Promise((resolve) => {
    startWorkerRuntime(start, sendToPrimary).then(
      (started) => {
        sendToPrimary({ type: 'serving' })
        resolve(started)
      },
      (error) => {
        const message = errorMessage(error)
        sendToPrimary({ type: 'failed', message }, () => exitProcess(1))
      },
    )
  })

let runtime: Promise<WorkerRuntime> | null = null
process.on('message', (message: MessageToWorker, socket?: Socket) => {
  if (message.type === 'start') runtime = startRuntime(message)
  else void runtime?.then((started) => started.receive(message, socket))
})

type OpenedLog = Awaited<ReturnType<typeof openLog>>

type WorkerServer = Awaited<ReturnType<typeof serveInProcess>>

type SendToPrimary = (message: MessageToPrimary, done?: () => void) => void

const startWorkerRuntime = async (init: WorkerInit, send: SendToPrimary): Promise<WorkerRuntime> => {
  const { worker, verdicts, pseudonym, ticketSecret } = init
  const state = await deserializeInput(init.state, null)
  const openedLog = await openLog(withLogFormatOf(init, state.config))
  const { log } = openedLog
  exitOnUncaughtException(log, openedLog.close, { worker })
  const calls = new PendingCalls()
  /** Calls the primary, which counts and stores for all workers. The caller sets the timeout. */
  const callPrimary = async <Type extends keyof PrimaryCalls>(
    type: Type,
    params: PrimaryCalls[Type]['params'],
  ): Promise<PrimaryCalls[Type]['result']> =>
    (await calls.call((id) => send({ type, id, ...params } as PrimaryCall), null)) as PrimaryCalls[Type]['result']
  const dataPlane = await createDataPlane(state, {
    logEvent: (level, event, fields) => log[level]({ worker, ...fields }, event),
    onVerdict: null, // the primary probes
    initialVerdicts: verdicts,
    place: {
      ...init.place,
      role: 'worker',
      name: `worker-${worker}`,
      notify: (message, options) => send({ type: 'told', message }, options?.onSent),
      ask: (message) => callPrimary('ask', { message }),
    },
    log,
    digestKey: init.digestKey,
  })
  for (const message of init.handedOver) receiveAt(dataPlane.parts, message, 'primary')
  const closed = new ClosedConnections(send)
  const countElsewhere = async (socket: Socket, address: string): Promise<boolean> => {
    const addressKey = await callPrimary('countConnection', { address })
    // The socket may have closed meanwhile.
    if (typeof addressKey === 'string') closed.reportWhenClosed(socket.destroyed ? undefined : socket, addressKey)
    return addressKey !== false
  }
  const server = await serveInProcess(dataPlane, log, {
    bindTarget: 'elsewhere',
    pseudonym,
    ticketSecret,
    worker,
    countElsewhere,
  })
  if (init.draining) server.drain()
  return new WorkerRuntime(send, openedLog, dataPlane, server, calls, closed)
}

class WorkerRuntime {
  readonly #send: SendToPrimary
  readonly #log: OpenedLog
  readonly #dataPlane: DataPlane
  readonly #server: WorkerServer
  readonly #calls: PendingCalls
  readonly #closed: ClosedConnections
  readonly #prepared = new Map<number, Promise<PreparedSnapshot>>()
  // Changes of the state take effect in the order of the messages.
  readonly #changes = new SerialQueue()
  #lastCommit: Promise<unknown> = Promise.resolve()

  constructor(
    send: SendToPrimary,
    log: OpenedLog,
    dataPlane: DataPlane,
    server: WorkerServer,
    calls: PendingCalls,
    closed: ClosedConnections,
  ) {
    this.#send = send
    this.#log = log
    this.#dataPlane = dataPlane
    this.#server = server
    this.#calls = calls
    this.#closed = closed
  }

  receive(message: WorkerCall | WorkerNotification, socket: Socket | undefined): void {
    if (!('id' in message)) return this.#handleNotification(message, socket)
    const { id } = message
    this.#handleCall(message).then(
      (value) => this.#send({ type: 'done', id, error: null, result: value }),
      (error) => this.#send({ type: 'done', id, error: errorMessage(error), result: null }),
    )
  }

  async #handleCall(call: WorkerCall): Promise<unknown> {
    const { currentSnapshot } = this.#dataPlane
    switch (call.type) {
      case 'prepare': {
        const preparing = this.#changes.run(async () =>
          this.#server.prepare(await deserializeInput(call.state, currentSnapshot.value.config)),
        )
        this.#prepared.set(call.prepared, preparing)
        await preparing
        return
      }
      case 'commit': {
        const committed = this.#changes.run(async () => {
          await (await this.#takePrepared(call.prepared)).commit()
          applyLogConfig(this.#log.log, currentSnapshot.value.config)
          syncVerdicts(this.#dataPlane, call.verdicts)
        })
        this.#lastCommit = committed
        await committed
        return
      }
      case 'command':
        // Runs in the state committed before it, also when both messages come in one read. Waits for no `prepare`.
        await this.#lastCommit
        return findCommand(this.#dataPlane, call.name).run(call.params as never)
      case 'report':
        return {
          report: await this.#server.report(),
          droppedLines: this.#log.dropped(),
          config: currentSnapshot.value.config.hash,
        }
    }
  }

  #handleNotification(notification: WorkerNotification, socket: Socket | undefined): void {
    switch (notification.type) {
      case 'connection':
        if (notification.addressKey !== null) this.#closed.reportWhenClosed(socket, notification.addressKey)
        return void this.#adoptAfterCommit(socket)
      case 'discard':
        return void this.#takePrepared(notification.prepared).then(
          (next) => next.discard(),
          () => {},
        )
      case 'verdict':
        return void this.#changes.run(async () => this.#dataPlane.endpoints.applyVerdict(notification.verdict))
      case 'told':
        return receiveAt(this.#dataPlane.parts, notification.message, 'primary')
      case 'drain':
        return this.#server.drain()
      case 'reply':
        return this.#calls.settle(notification.to, null, notification.result)
      case 'close':
        return void this.#close(notification.deadlineMs)
          .finally(() => Promise.all(Object.values(this.#dataPlane.parts).map((part) => part.flushed?.())))
          .finally(this.#log.close)
          .finally(() => exitProcess(0))
    }
  }

  async #takePrepared(id: number): Promise<PreparedSnapshot> {
    const found = this.#prepared.get(id)
    this.#prepared.delete(id)
    if (found === undefined) throw new Error('was told to take what it was never given')
    return found
  }

  /** Serves a connection in the state that was committed before it came. */
  async #adoptAfterCommit(socket: Socket | undefined): Promise<void> {
    socket?.on('error', () => {}) // it may break while it waits
    try {
      await this.#lastCommit
    } catch {
      return void socket?.destroy() // the primary is about to kill this worker
    }
    // If the end has been read already, the server would wait for it.
    if (socket?.readableEnded) socket.destroy()
    if (socket?.destroyed === false) this.#server.adoptConnection(socket)
    this.#send({ type: 'adopted' })
  }

  /** Connections that wait for a commit are served first. */
  async #close(deadlineMs: number): Promise<void> {
    const startedAt = now()
    const adopted = this.#lastCommit.then(nextTurn, () => {}) // their first bytes are read in that turn
    await settlesWithin(deadlineMs, adopted)
    await this.#server.close(Math.max(0, deadlineMs - (now() - startedAt)))
  }
}

/** Reports the end of connections that the primary counts. */
class ClosedConnections {
  readonly #send: SendToPrimary
  #addressKeys: string[] = []

  constructor(send: SendToPrimary) {
    this.#send = send
  }

  /** `socket` undefined: the connection was lost on its way. */
  reportWhenClosed(socket: Socket | undefined, addressKey: string): void {
    if (socket === undefined) this.#report(addressKey)
    else socket.once('close', () => this.#report(addressKey))
  }

  #report(addressKey: string): void {
    // When many connections close at once, one message reports them all.
    if (this.#addressKeys.push(addressKey) > 1) return
    setImmediate(() => {
      this.#send({ type: 'closed', addressKeys: this.#addressKeys })
      this.#addressKeys = []
    })
  }
}

const withLogFormatOf = ({ logsToTerminal }: WorkerInit, config: LoggingConfig): LoggingConfig =>
  logsToTerminal ? { ...config, log: { ...config.log, format: 'pino' } } : config

/**
 * Copies the primary's verdicts. An endpoint that the primary closed and opened again is new to its probes, and counts
 * as up.
 */
const syncVerdicts = ({ endpoints }: DataPlane, verdicts: WorkerInit['verdicts']): void => {
  const down = new Set(verdicts.map(([key]) => key))
  for (const [key] of endpoints.verdicts) if (!down.has(key)) endpoints.applyVerdict([key, null])
  for (const verdict of verdicts) endpoints.applyVerdict(verdict)
}
