import { Worker } from 'node:worker_threads'
import { unrefTimeout } from '../../lib/clock.ts'
import { readingThreads } from '../../lib/program.ts'

const script = new URL('../../../load-thread.ts', import.meta.url)

const maxHeapMib = 512
// 10,000 clients in YAML take 160 MiB.
const minHeapMib = 192
// The thread takes 66 MiB beside its heap. The process needs the rest to receive the configuration.
const besideHeapMib = 96

/** Kept, because starting a thread takes ten times as long as reading a file. */
let idleThread: Worker | null = null

// Edits come in bursts. An idle thread holds tens of megabytes.
const maxIdleMs = 5_000
let cancelIdleTimer = (): void => {}

/**
 * Called early, so that the thread loads while this process does. If it fails, `acquireThread` fails with the reason.
 */
export const startThread = (): void => {
  try {
    releaseThread(acquireThread())
  } catch {}
}

export const acquireThread = (): Worker => {
  const reused = idleThread
  idleThread = null
  cancelIdleTimer()
  if (reused === null) {
    const maxOldGenerationSizeMb = heapMib(process.constrainedMemory(), process.memoryUsage.rss())
    const thread = new Worker(script, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb } })
    return thread.once('exit', () => readingThreads.delete(thread))
  }
  reused.off('error', forgetIdleThread).off('exit', forgetIdleThread)
  reused.ref()
  return reused
}

export const releaseThread = (thread: Worker): void => {
  if (idleThread !== null) return terminateThread(thread)
  idleThread = thread
  cancelIdleTimer = unrefTimeout(maxIdleMs, () => {
    if (idleThread === thread) idleThread = null
    terminateThread(thread)
  })
  thread.unref()
  thread.on('error', forgetIdleThread).on('exit', forgetIdleThread)
}

const forgetIdleThread = (): void => {
  idleThread = null
}

export const terminateThread = (thread: Worker): void => {
  thread.on('error', () => {}) // an unhandled error would end the process
  void thread.terminate()
}

/**
 * In MiB: 512, or what the memory limit of the service or container leaves. A file that needs more is rejected;
 * otherwise the kernel would kill the process. `limitBytes` 0: unknown.
 */
export const heapMib = (limitBytes: number, residentBytes: number): number => {
  const left = Math.floor((limitBytes - residentBytes) / 1024 ** 2) - besideHeapMib
  return limitBytes === 0 ? maxHeapMib : Math.min(maxHeapMib, Math.max(minHeapMib, left))
}
