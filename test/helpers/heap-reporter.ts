/**
 * Responds to every message with what the heap holds after two forced collections:
 * `node --expose-gc --import heap-reporter.ts …`, with an IPC channel.
 */
import type { Heap } from './edited-gateway.ts'

process.on('message', () => {
  // The first runs finalizers, the second takes what those let go.
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  process.send?.({ usedBytes: heapUsed, residentBytes: rss } satisfies Heap)
})
process.channel?.unref()
