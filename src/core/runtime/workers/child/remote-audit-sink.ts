import type { AuditSink } from '../../../../features/audit/audit-sink.ts'

/** Sends lines to the primary, with the number of those that were lost; `done` is called when they are on their way. */
type SendLines = (lines: readonly string[], lost: number, done: () => void) => void

// More than that has not piled up for want of time, but because the primary hangs.
const maxUnsentBytes = 4 * 1024 * 1024

/**
 * The audit log of a worker, which the primary writes: gathers the lines of one turn of the event loop. What has been
 * sent is not lost with this process: it is in the pipe, which the primary reads to its end.
 */
export class RemoteAuditSink implements AuditSink {
  readonly #send: SendLines
  primaryFailing: boolean
  #lines: string[] = []
  #bytes = 0
  #unsentBytes = 0
  /** How many messages are not on their way yet. */
  #unsent = 0
  #lost = 0
  #isScheduled = false
  #onFlushed: (() => void)[] = []

  constructor(send: SendLines, primaryFailing = false) {
    this.#send = send
    this.primaryFailing = primaryFailing
  }

  get failing(): boolean {
    return this.primaryFailing || this.#isFull
  }

  get #isFull(): boolean {
    return this.#unsentBytes + this.#bytes >= maxUnsentBytes
  }

  record(line: string): void {
    // The loss is reported with the next message, or when the primary has read one.
    if (this.#isFull) return void this.#lost++
    this.#lines.push(line)
    this.#bytes += line.length
    this.#scheduleFlush()
  }

  #scheduleFlush(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#flush())
  }

  /** Resolves when all are on their way. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      this.#onFlushed.push(resolve)
      this.#flush()
      this.#notifyFlushed()
    })
  }

  #flush(): void {
    this.#isScheduled = false
    if (this.#lines.length === 0 && this.#lost === 0) return
    const bytes = this.#bytes
    this.#unsentBytes += bytes
    this.#unsent++
    const [lines, lost] = [this.#lines, this.#lost]
    this.#lines = []
    this.#bytes = 0
    this.#lost = 0
    this.#send(lines, lost, () => {
      this.#unsentBytes -= bytes
      this.#unsent--
      if (this.#lost > 0) this.#flush()
      this.#notifyFlushed()
    })
  }

  #notifyFlushed(): void {
    if (this.#unsent > 0) return
    for (const notify of this.#onFlushed.splice(0)) notify()
  }
}
