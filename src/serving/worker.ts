/** Serves clients in a process of its own: `fork`ed by the primary, which tells it everything (see protocol.ts). */
import type { Socket } from 'node:net'
import { tuneHeap } from './heap.ts'
import type { Start, ToPrimary, ToWorker } from './protocol.ts'
import { type Work, work } from './work.ts'

tuneHeap()

// A terminal and some supervisors send these to every process of a group. The primary hears them, and says what is to be done.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => {})

// Whoever serves on without a primary is reached by nobody new, and by no operator.
process.on('disconnect', () => process.exit(1))
if (!process.connected) process.exit(1)

const tell = (message: ToPrimary): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

const begin = async (start: Start): Promise<Work> => {
  try {
    const begun = await work(start, tell)
    tell({ type: 'serving' })
    return begun
  } catch (error) {
    tell({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
    process.disconnect() // once that is written
    throw error
  }
}

let begun: Promise<Work> | null = null
process.on('message', (message: ToWorker, socket?: Socket) => {
  if (message.type === 'start') begun = begin(message)
  else void begun?.then((work) => work.receive(message, socket))
})
