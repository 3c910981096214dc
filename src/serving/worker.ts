/** Serves clients in a process of its own: `fork`ed by the primary, which tells it everything (see protocol.ts). */
import type { Socket } from 'node:net'
import { tidyHeap, tuneHeap } from './heap.ts'
import type { Start, ToPrimary, ToWorker } from './protocol.ts'
import { type Work, work } from './work.ts'

tuneHeap()
tidyHeap()

// A terminal and some supervisors send these to every process of a group. The primary hears them, and says what is to be done.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

// Whoever serves on without a primary is reached by nobody new, and by no operator.
process.on('disconnect', () => process.exit(1))
if (!process.connected) process.exit(1)

const tell = (message: ToPrimary, done = () => {}): void => {
  if (process.connected) process.send?.(message, undefined, undefined, done)
}

const begin = (start: Start): Promise<Work> =>
  new Promise((resolve) => {
    work(start, tell).then(
      (begun) => {
        tell({ type: 'serving' })
        resolve(begun)
      },
      (error) => {
        const message = error instanceof Error ? error.message : String(error)
        tell({ type: 'failed', message }, () => process.exit(1))
      },
    )
  })

let begun: Promise<Work> | null = null
process.on('message', (message: ToWorker, socket?: Socket) => {
  if (message.type === 'start') begun = begin(message)
  else void begun?.then((work) => work.receive(message, socket))
})
