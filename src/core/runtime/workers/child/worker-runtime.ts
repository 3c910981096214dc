import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { errorMessage } from '../../../exchange/failures/error-message.ts'
import { now, settlesWithin } from '../../../lib/clock.ts'
import { exitProcess } from '../../../lib/exit-process.ts'
import { SerialQueue } from '../../../lib/serial-queue.ts'
import { applyLogConfig, exitOnUncaughtException, openLog } from '../../../log/log.ts'
import type { LoggingConfig } from '../../../log/log-format.ts'
import { createDataPlane, type DataPlane } from '../../snapshot/data-plane.ts'
import { runInProcess } from '../../snapshot/data-plane-commands.ts'
import { serveAsWorker } from '../in-process.ts'
import {
  deserializeInput,
  type MessageToPrimary,
  type PrimaryCall,
  type PrimaryCalls,
  type WorkerCall,
  type WorkerInit,
  type WorkerNotification,
} from '../ipc/messages.ts'
import { PendingCalls } from '../ipc/rpc.ts'
import type { PreparedSnapshot } from '../proxy-server.ts'

export interface WorkerRuntime {
  /** Handles a message of the primary; a connection comes as a socket. */
  receive(message: WorkerCall | WorkerNotification, socket: Socket | undefined): void
}

/** Starts to serve the connections that the primary hands over. Rejects when it cannot. */
export const startWorkerRuntime = async (
  init: WorkerInit,
  send: (message: MessageToPrimary, done?: () => void) => void,
): Promise<WorkerRuntime> => {
  const { worker, verdicts, pseudonym, ticketSecret } = init
  const state = await deserializeInput(init.state, [])
  const { log, dropped, close: closeLog } = await openLog(withLogFormatOf(init, state.config))
  exitOnUncaughtException(log, closeLog, { worker })
  const calls = new PendingCalls()
  /** Calls the primary, which counts and remembers for all workers. The caller decides how long it waits. */
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
      role: 'worker',
      name: `worker-${worker}`,
      workers: init.workers,
      answerMs: init.answerMs,
      notify: (message, options) => send({ type: 'told', message }, options?.onSent),
      ask: (message) => callPrimary('ask', { message }),
    },
    log,
    digestKey: init.digestKey,
  })
  for (const message of init.handedOver) dataPlane.receive(message, 'primary')
  const countRemotely = async (socket: Socket, address: string): Promise<boolean> => {
    const addressKey = await callPrimary('countConnection', { address })
    // It may have closed meanwhile.
    if (typeof addressKey === 'string') reportWhenClosed(socket.destroyed ? undefined : socket, addressKey)
    return addressKey !== false
  }
  const serverOptions = { pseudonym, ticketSecret, worker, countElsewhere: countRemotely }
  const server = await serveAsWorker(dataPlane, log, serverOptions)
  if (init.draining) server.drain()
  const prepared = new Map<number, Promise<PreparedSnapshot>>()

  const takePrepared = async (id: number): Promise<PreparedSnapshot> => {
    const found = prepared.get(id)
    prepared.delete(id)
    if (found === undefined) throw new Error('was told to take what it was never given')
    return found
  }

  // What changes the state comes into effect in the order of the messages.
  const changes = new SerialQueue()
  let lastCommit: Promise<unknown> = Promise.resolve()

  const handleCall = async (call: WorkerCall): Promise<unknown> => {
    switch (call.type) {
      case 'prepare': {
        const preparing = changes.run(async () =>
          server.prepare(await deserializeInput(call.state, dataPlane.currentSnapshot.value.config.clients)),
        )
        prepared.set(call.prepared, preparing)
        await preparing
        return
      }
      case 'commit': {
        const committed = changes.run(async () => {
          await (await takePrepared(call.prepared)).commit()
          applyLogConfig(log, dataPlane.currentSnapshot.value.config)
          syncVerdicts(dataPlane, call.verdicts)
        })
        lastCommit = committed
        await committed
        return
      }
      case 'command':
        // It runs in the state that was committed before it, also when both come in one read. It waits for no prepare.
        await lastCommit
        return runInProcess(dataPlane, call.name, call.params)
      case 'report':
        return {
          report: await server.report(),
          droppedLines: dropped(),
          config: dataPlane.currentSnapshot.value.config.hash,
        }
    }
  }

  let closedAddresses: string[] = []
  const reportWhenClosed = (socket: Socket | undefined, addressKey: string): void => {
    const reportClosed = (): void => {
      // When many connections close at once, one message reports them all.
      if (closedAddresses.push(addressKey) > 1) return
      setImmediate(() => {
        send({ type: 'closed', addressKeys: closedAddresses })
        closedAddresses = []
      })
    }
    if (socket === undefined)
      reportClosed() // lost on its way
    else socket.once('close', reportClosed)
  }

  /** Serves a connection in the state that was committed before it came. */
  const adoptAfterCommit = async (socket: Socket | undefined): Promise<void> => {
    socket?.on('error', () => {}) // it may break while it waits
    try {
      await lastCommit
    } catch {
      return void socket?.destroy() // the worker is about to be killed, and takes no further one
    }
    // Where the end has gone by, the next reader would wait for it.
    if (socket?.readableEnded) socket.destroy()
    if (socket?.destroyed === false) server.adoptConnection(socket)
    send({ type: 'adopted' })
  }

  /** Closes the server. Connections that wait for a commit are served first. */
  const closeServer = async (deadlineMs: number): Promise<void> => {
    const startedAt = now()
    const adopted = lastCommit.then(nextTurn, () => {}) // what they have sent is read in that turn
    await settlesWithin(deadlineMs, adopted)
    await server.close(Math.max(0, deadlineMs - (now() - startedAt)))
  }

  const handleNotification = (notification: WorkerNotification, socket: Socket | undefined): void => {
    switch (notification.type) {
      case 'connection':
        if (notification.addressKey !== null) reportWhenClosed(socket, notification.addressKey)
        return void adoptAfterCommit(socket)
      case 'discard':
        // Where the state could not be prepared, there is nothing to discard.
        return void takePrepared(notification.prepared).then(
          (next) => next.discard(),
          () => {},
        )
      case 'verdict':
        return void changes.run(async () => dataPlane.applyVerdict(notification.verdict))
      case 'told':
        return dataPlane.receive(notification.message, 'primary')
      case 'drain':
        return server.drain()
      case 'reply':
        return calls.settle(notification.to, null, notification.result)
      case 'close':
        return void closeServer(notification.deadlineMs)
          .finally(() => dataPlane.flushed())
          .finally(closeLog)
          .finally(() => exitProcess(0))
    }
  }

  return {
    receive(message, socket) {
      if (!('id' in message)) return handleNotification(message, socket)
      const { id } = message
      handleCall(message).then(
        (value) => send({ type: 'done', id, error: null, result: value }),
        (error) => send({ type: 'done', id, error: errorMessage(error), result: null }),
      )
    },
  }
}

/** Returns how a worker logs: as pino does where the primary makes its lines readable on a terminal. */
const withLogFormatOf = ({ logsToTerminal }: WorkerInit, config: LoggingConfig): LoggingConfig =>
  logsToTerminal ? { ...config, log: { ...config.log, format: 'pino' } } : config

/**
 * Makes the verdicts of a data plane those of the primary. An endpoint that was closed there and opened again is new to
 * its probes, and counts as up.
 */
const syncVerdicts = (dataPlane: DataPlane, verdicts: WorkerInit['verdicts']): void => {
  const down = new Set(verdicts.map(([key]) => key))
  for (const [key] of dataPlane.verdicts) if (!down.has(key)) dataPlane.applyVerdict([key, null])
  for (const verdict of verdicts) dataPlane.applyVerdict(verdict)
}
