import { epochMs } from '../../core/lib/clock.ts'
import type { ExchangeObserver } from '../../core/log/exchange-record.ts'
import type { Channel, ChannelEnd, ProcessPlace } from '../../core/runtime/channel.ts'
import { exchangeLine } from './audit-line.ts'

/** One for all snapshots of a process. */
export interface AuditSink {
  /** Lines wait or are lost because writing fails. */
  readonly failing: boolean
  /** Never waits or throws. */
  record(content: string): void
}

export const nullAuditSink: AuditSink = { failing: false, record() {} }

export const auditObserver = (sink: AuditSink): ExchangeObserver => ({
  name: 'audit',
  record: (record) => sink.record(exchangeLine(epochMs(), record)),
})

/** `done` is called when the lines are in the pipe. */
type SendLines = (lines: readonly string[], lost: number, done: () => void) => void

// More unsent bytes mean that the primary hangs.
const maxUnsentBytes = 4 * 1024 * 1024

/** Batches lines per turn of the event loop. Sent lines survive this worker: the primary reads the pipe to its end. */
export class RemoteAuditSink implements ProcessAuditSink {
  readonly #send: SendLines
  #primaryFailing = false
  #lines: string[] = []
  #bytes = 0
  #unsentBytes = 0
  #unsent = 0
  #lost = 0
  #isScheduled = false
  #onFlushed: (() => void)[] = []

  constructor(send: SendLines) {
    this.#send = send
  }

  receive(failing: boolean): void {
    this.#primaryFailing = failing
  }

  get failing(): boolean {
    return this.#primaryFailing || this.#isFull
  }

  get #isFull(): boolean {
    return this.#unsentBytes + this.#bytes >= maxUnsentBytes
  }

  record(line: string): void {
    // The next message reports the loss, or the next completed send.
    if (this.#isFull) return void this.#lost++
    this.#lines.push(line)
    this.#bytes += line.length
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#flush())
  }

  /** Resolves when all lines are in the pipe. */
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
    const [lines, bytes, lost] = [this.#lines, this.#bytes, this.#lost]
    this.#unsentBytes += bytes
    this.#unsent++
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

interface ProcessAuditSink extends AuditSink, Pick<ChannelEnd, 'receive'> {
  flushed?(): Promise<void>
}

export const openAuditSink = (role: ProcessPlace['role'], channel: Pick<Channel, 'notify'>): ProcessAuditSink => {
  if (role === 'primary') return nullAuditSink
  if (role === 'worker')
    return new RemoteAuditSink((lines, lost, onSent) => channel.notify({ lines, lost }, { onSent }))
  const sink = {
    failing: false,
    record: (line: string) => channel.notify(line),
    receive(failing: boolean) {
      sink.failing = failing
    },
  }
  return sink
}
