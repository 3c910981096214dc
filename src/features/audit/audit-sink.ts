import { epochMs } from '../../core/lib/clock.ts'
import type { ExchangeObserver } from '../../core/log/exchange-record.ts'
import type { Channel, ChannelEnd, ProcessPlace } from '../../core/runtime/channel.ts'
import { exchangeLine } from './audit-line.ts'

export interface AuditSink {
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

const maxUnsentBytes = 4 * 1024 * 1024

/**
 * Sends the lines of one turn of the event loop together. The primary reads the pipe to its end, so sent lines survive
 * the worker.
 */
export const createRemoteAuditSink = (send: SendLines): Required<ProcessAuditSink> => {
  let isPrimaryFailing = false
  let waiting = { lines: [] as string[], bytes: 0, lost: 0 }
  let unsentBytes = 0
  let unsentMessages = 0
  let isScheduled = false
  const onFlushed: (() => void)[] = []
  const isFull = (): boolean => unsentBytes + waiting.bytes >= maxUnsentBytes

  const notifyFlushed = (): void => {
    if (unsentMessages > 0) return
    for (const notify of onFlushed.splice(0)) notify()
  }

  const flush = (): void => {
    isScheduled = false
    const { lines, bytes, lost } = waiting
    if (lines.length === 0 && lost === 0) return
    waiting = { lines: [], bytes: 0, lost: 0 }
    unsentBytes += bytes
    unsentMessages++
    send(lines, lost, () => {
      unsentBytes -= bytes
      unsentMessages--
      if (waiting.lost > 0) flush()
      notifyFlushed()
    })
  }

  return {
    receive(failing) {
      isPrimaryFailing = failing === true
    },
    get failing() {
      return isPrimaryFailing || isFull()
    },
    record(line) {
      // The next message reports the loss.
      if (isFull()) return void waiting.lost++
      waiting.lines.push(line)
      waiting.bytes += line.length
      if (isScheduled) return
      isScheduled = true
      setImmediate(flush)
    },
    flushed: () =>
      new Promise((resolve) => {
        onFlushed.push(resolve)
        flush()
        notifyFlushed()
      }),
  }
}

interface ProcessAuditSink extends AuditSink, Pick<ChannelEnd, 'receive'> {
  /** Resolves when all lines are in the pipe. */
  flushed?(): Promise<void>
}

export const openAuditSink = (role: ProcessPlace['role'], channel: Pick<Channel, 'notify'>): ProcessAuditSink => {
  if (role === 'primary') return nullAuditSink
  if (role === 'worker')
    return createRemoteAuditSink((lines, lost, onSent) => channel.notify({ lines, lost }, { onSent }))
  const sink = {
    failing: false,
    record: (line: string) => channel.notify(line),
    receive(failing: boolean) {
      sink.failing = failing
    },
  }
  return sink
}
