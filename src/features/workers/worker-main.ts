/** Serves clients in a process that the primary has forked. */
import '../installed.ts'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { findServiceName } from '../../core/config/config-facts.ts'
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
import { createDataPlane, type DataPlane, runInProcess } from '../../core/runtime/snapshot/data-plane.ts'
import {
  createPendingCalls,
  deserializeInput,
  type MessageToPrimary,
  type MessageToWorker,
  type PrimaryCall,
  type PrimaryCalls,
  type WorkerCall,
  type WorkerInit,
  type WorkerNotification,
} from './messages.ts'

tuneHeap()
collectStartupGarbage()

// A terminal and some supervisors signal every process of the group. Workers wait for the primary to stop them.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

// Without its primary, a worker gets no clients and no commands.
process.on('disconnect', () => exitProcess(1))
if (!process.connected) process.exit(1)

const sendToPrimary = (message: MessageToPrimary, done = () => {}): void => {
  if (process.connected) process.send?.(message, undefined, undefined, done)
}

type Receive = (message: WorkerCall | WorkerNotification, socket: Socket | undefined) => void

let started: Promise<Receive> | null = null
process.on('message', (message: MessageToWorker, socket?: Socket) => {
  if (message.type === 'start') started = start(message)
  else void started?.then((receive) => receive(message, socket))
})

const start = async (init: WorkerInit): Promise<Receive> => {
  try {
    const receive = await startServing(init)
    sendToPrimary({ type: 'serving' })
    return receive
  } catch (error) {
    sendToPrimary({ type: 'failed', message: errorMessage(error) }, () => exitProcess(1))
    return new Promise(() => {})
  }
}

const startServing = async (init: WorkerInit): Promise<Receive> => {
  const { worker, verdicts, pseudonym, ticketSecret } = init
  const state = await deserializeInput(init.state, null)
  const openedLog = await openLog(withLogFormatOf(init, state.config), findServiceName(state.config))
  const { log } = openedLog
  exitOnUncaughtException(log, openedLog.close, { worker })
  const calls = createPendingCalls()
  /** The caller sets the timeout. */
  const callPrimary = async <Type extends keyof PrimaryCalls>(type: Type, params: PrimaryCalls[Type]['params']) => {
    const reply = calls.call((id) => sendToPrimary({ type, id, ...params } as PrimaryCall), null)
    return (await reply) as PrimaryCalls[Type]['result']
  }
  const dataPlane = await createDataPlane(state, {
    logEvent: (level, event, fields) => log[level]({ worker, ...fields }, event),
    onVerdict: null,
    initialVerdicts: verdicts,
    place: {
      ...init.place,
      role: 'worker',
      name: `worker-${worker}`,
      notify: (message, options) => sendToPrimary({ type: 'notification', message }, options?.onSent),
      ask: (message) => callPrimary('ask', { message }),
    },
    log,
    digestKey: init.digestKey,
  })
  for (const message of init.handedOver) receiveAt(dataPlane.parts, message, 'primary')
  const countElsewhere = async (socket: Socket, address: string): Promise<boolean> => {
    const addressKey = await callPrimary('countConnection', { address })
    if (typeof addressKey === 'string') reportWhenClosed(socket.destroyed ? undefined : socket, addressKey)
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
  return createReceiver(openedLog, dataPlane, server, calls.settle)
}

type OpenedLog = Awaited<ReturnType<typeof openLog>>
type WorkerServer = Awaited<ReturnType<typeof serveInProcess>>

const createReceiver = (
  { log, close, dropped }: OpenedLog,
  dataPlane: DataPlane,
  server: WorkerServer,
  settle: ReturnType<typeof createPendingCalls>['settle'],
): Receive => {
  const { currentSnapshot } = dataPlane
  const changes = createChanges(log, dataPlane, server)

  const handleCall = async (call: WorkerCall): Promise<unknown> => {
    switch (call.type) {
      case 'prepare':
        return changes.prepare(call.prepared, call.state)
      case 'commit':
        return changes.commit(call.prepared, call.verdicts)
      case 'command':
        // Runs in the state committed before it, even if both messages come in one read.
        await changes.lastCommit()
        return runInProcess(dataPlane, call.name, call.params as never)
      case 'report':
        return { report: await server.report(), droppedLines: dropped(), config: currentSnapshot.value.config.hash }
    }
  }

  /** Serves a connection in the state that was committed before it came. */
  const adoptAfterCommit = async (socket: Socket | undefined): Promise<void> => {
    socket?.on('error', () => {})
    try {
      await changes.lastCommit()
    } catch {
      return void socket?.destroy()
    }
    // The server would wait for an end that has been read already.
    if (socket?.readableEnded) socket.destroy()
    if (socket?.destroyed === false) server.adoptConnection(socket)
    sendToPrimary({ type: 'adopted' })
  }

  /** Connections that wait for a commit are served first. */
  const stop = async (deadlineMs: number): Promise<void> => {
    const startedAt = now()
    const adopted = changes.lastCommit().then(nextTurn, () => {})
    await settlesWithin(deadlineMs, adopted)
    await server.close(Math.max(0, deadlineMs - (now() - startedAt)))
  }

  const handleNotification = (notification: WorkerNotification, socket: Socket | undefined): unknown => {
    switch (notification.type) {
      case 'connection':
        if (notification.addressKey !== null) reportWhenClosed(socket, notification.addressKey)
        return adoptAfterCommit(socket)
      case 'discard':
        return changes.discard(notification.prepared)
      case 'verdict':
        return changes.run(async () => dataPlane.endpoints.applyVerdict(notification.verdict))
      case 'notification':
        return receiveAt(dataPlane.parts, notification.message, 'primary')
      case 'drain':
        return server.drain()
      case 'reply':
        return settle(notification.to, null, notification.result)
      case 'close':
        return stop(notification.deadlineMs)
          .finally(() => Promise.all(Object.values(dataPlane.parts).map((part) => part.flushed?.())))
          .finally(close)
          .finally(() => exitProcess(0))
    }
  }

  return (message, socket) => {
    if (!('id' in message)) return void handleNotification(message, socket)
    const { id } = message
    handleCall(message).then(
      (result) => sendToPrimary({ type: 'done', id, error: null, result }),
      (error) => sendToPrimary({ type: 'done', id, error: errorMessage(error), result: null }),
    )
  }
}

const createChanges = (log: OpenedLog['log'], dataPlane: DataPlane, server: WorkerServer) => {
  const { currentSnapshot } = dataPlane
  const prepared = new Map<number, Promise<PreparedSnapshot>>()
  const queue = new SerialQueue()
  let lastCommit: Promise<void> = Promise.resolve()
  const takePrepared = async (id: number): Promise<PreparedSnapshot> => {
    const found = prepared.get(id)
    prepared.delete(id)
    if (found === undefined) throw new Error('there is no prepared configuration of this id')
    return found
  }
  return {
    lastCommit: () => lastCommit,
    run: (change: () => Promise<void>) => queue.run(change),
    async prepare(id: number, state: WorkerInit['state']): Promise<void> {
      const preparing = queue.run(async () =>
        server.prepare(await deserializeInput(state, currentSnapshot.value.config)),
      )
      prepared.set(id, preparing)
      await preparing
    },
    commit(id: number, verdicts: WorkerInit['verdicts']): Promise<void> {
      lastCommit = queue.run(async () => {
        await (await takePrepared(id)).commit()
        const { config } = currentSnapshot.value
        applyLogConfig(log, config, findServiceName(config))
        syncVerdicts(dataPlane, verdicts)
      })
      return lastCommit
    },
    discard: (id: number) =>
      takePrepared(id).then(
        (next) => next.discard(),
        () => {},
      ),
  }
}

let closedKeys: string[] = []

/**
 * Reports the end of a connection that the primary counts, many ends in one message. `socket` undefined: the connection
 * was lost on its way.
 */
const reportWhenClosed = (socket: Socket | undefined, addressKey: string): void => {
  const report = (): void => {
    if (closedKeys.push(addressKey) > 1) return
    setImmediate(() => {
      sendToPrimary({ type: 'closed', addressKeys: closedKeys })
      closedKeys = []
    })
  }
  if (socket === undefined) report()
  else socket.once('close', report)
}

const withLogFormatOf = ({ logsToTerminal }: WorkerInit, config: LoggingConfig): LoggingConfig =>
  logsToTerminal ? { ...config, log: { ...config.log, format: 'pino' } } : config

/** An endpoint that the primary has closed and opened again is new to its probes: it counts as up. */
const syncVerdicts = ({ endpoints }: DataPlane, verdicts: WorkerInit['verdicts']): void => {
  const down = new Set(verdicts.map(([key]) => key))
  for (const [key] of endpoints.verdicts) if (!down.has(key)) endpoints.applyVerdict([key, null])
  for (const verdict of verdicts) endpoints.applyVerdict(verdict)
}
