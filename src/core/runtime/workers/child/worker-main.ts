/** Serves clients in a process of its own. The primary forks it and sends it everything (messages.ts). */
import type { Socket } from 'node:net'
import { errorMessage } from '../../../exchange/failures/error-message.ts'
import { exitProcess } from '../../../lib/program.ts'
import { collectStartupGarbage, tuneHeap } from '../heap.ts'
import type { MessageToPrimary, MessageToWorker, WorkerInit } from '../ipc/messages.ts'
import { startWorkerRuntime, type WorkerRuntime } from './worker-runtime.ts'

tuneHeap()
collectStartupGarbage()

// A terminal and some supervisors send these to every process of a group. The primary handles them, and says what is to
// be done.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

// A worker without its primary would be reached by no new client, and by no operator.
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
