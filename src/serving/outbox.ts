import type { Auditor } from '../observe/audit/line.ts'

/** Sends lines to the primary, with the number of those that were lost; `done` is called when they are on their way. */
type SendLines = (lines: readonly string[], lost: number, done: () => void) => void

// More than that is not in this process for want of a reader, but because that reader hangs.
const maxUnsentBytes = 4 * 1024 * 1024

/**
 * Has the primary write the audit log for a worker: gathers the lines of one turn of the event loop. What has been sent is no longer lost with
 * this process: it is in the pipe, and read to its end.
 */
export class Outbox implements Auditor {
  readonly #send: SendLines
  /** Whether the primary cannot write. */
  primaryFails: boolean
  #lines: string[] = []
  #bytes = 0
  #unsentBytes = 0
  /** How many messages are not on their way. */
  #unsent = 0
  #lost = 0
  #isDue = false
  #whenSent: (() => void)[] = []

  constructor(send: SendLines, primaryFails = false) {
    this.#send = send
    this.primaryFails = primaryFails
  }

  get failing(): boolean {
    return this.primaryFails || this.#isFull
  }

  get #isFull(): boolean {
    return this.#unsentBytes + this.#bytes >= maxUnsentBytes
  }

  record(line: string): void {
    // That is told with the next, or when the primary takes some.
    if (this.#isFull) return void this.#lost++
    this.#lines.push(line)
    this.#bytes += line.length
    this.#soon()
  }

  #soon(): void {
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(() => this.#flush())
  }

  /** Resolves when all are on their way. */
  sent(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenSent.push(resolve)
      this.#flush()
      this.#settle()
    })
  }

  #flush(): void {
    this.#isDue = false
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
      this.#settle()
    })
  }

  #settle(): void {
    if (this.#unsent > 0) return
    for (const tell of this.#whenSent.splice(0)) tell()
  }
}
