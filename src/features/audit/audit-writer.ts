import { CoalescedTimer, epochMs } from '../../core/lib/clock.ts'
import { SerialQueue } from '../../core/lib/serial-queue.ts'
import type { Log } from '../../core/log/log.ts'
import { type AuditEndReason, eventLine } from './audit-line.ts'
import type { AuditOutput, OpenedAuditOutput } from './audit-output.ts'
import {
  createBacklog,
  extendTornTail,
  type PendingLine,
  pendingHeadLine,
  type SealedBatch,
  sealBatch,
  type TornTail,
} from './backlog.ts'
import type { AuditKey, ChainPosition } from './chain/chain.ts'
import type { AuditConfig } from './config.ts'
import { trackDiskSpace } from './disk-space.ts'
import { errorReason, trackWriterHealth } from './writer-health.ts'

export const defaultWriterOptions = {
  batchDelayMs: 5,
  maxPendingBytes: 16 * 1024 * 1024,
  retryDelayMs: 250,
  writeTimeoutMs: 5000,
  checkpointIntervalMs: 60_000,
}

export type AuditWriterState = AuditWriter['state']

export interface UnwrittenLines {
  readonly lines: readonly string[]
  /** Losses that no line has reported. */
  readonly lost: number
}

/** Seals and appends lines in batches, with retries. A queue runs one step at a time. */
export class AuditWriter {
  readonly #log: Log
  readonly #options: typeof defaultWriterOptions
  readonly #health: ReturnType<typeof trackWriterHealth>
  readonly #disk: ReturnType<typeof trackDiskSpace>
  #output: AuditOutput
  /** The last written line. */
  #position: ChainPosition
  #key: AuditKey
  #tornTail: TornTail
  readonly #backlog: ReturnType<typeof createBacklog>
  #batch: SealedBatch | null = null
  #lastCheckpoint = ''
  #isUnsynced = false
  readonly #queue = new SerialQueue()
  #isClosed = false
  readonly #writeTimer = new CoalescedTimer(() => this.#writeSoon())
  #isScheduled = false
  readonly #checkpointTimer = new CoalescedTimer(() => void this.checkpoint().then(() => this.#setCheckpoint()))
  /** False after a failure, until the next checkpoint. */
  #mayRollOver = true

  constructor(
    { output, link, torn }: OpenedAuditOutput,
    key: AuditKey,
    log: Log,
    onHealth: (failing: boolean) => void,
    options = defaultWriterOptions,
  ) {
    this.#output = output
    this.#position = link
    this.#key = key
    this.#tornTail = { afterCount: link.count, pieces: torn === null ? [] : [torn] }
    this.#log = log
    this.#options = options
    this.#backlog = createBacklog(options.maxPendingBytes)
    this.#health = trackWriterHealth(log, onHealth)
    this.#disk = trackDiskSpace(log, output)
    this.#add(pendingHeadLine('start', () => this.#tornTail, { pid: process.pid }))
    if (torn !== null) log.warn({ file: output.name, bytes: torn.length }, 'audit file ended in a torn line')
    this.#setCheckpoint()
  }

  get failing(): boolean {
    return this.#health.state.reason !== null
  }

  get state() {
    const { chain, count, mac: hash } = this.#position
    const { reason, since, lost } = this.#health.state
    const [file, waitingBytes, disk] = [this.#output.name, this.#backlog.bytes, this.#disk.state]
    return { file, chain, count, hash, reason, since, waitingBytes, lost, disk }
  }

  record(content: string): void {
    if (!this.#backlog.hasRoomFor(content)) return this.countLost(1)
    this.#backlog.addLostLine()
    this.#add({ content, bytes: content.length })
  }

  /** A line in the file reports the loss where it happened. */
  countLost(lines: number): void {
    const { state, update } = this.#health
    state.lost += lines
    update(state.reason ?? 'lines come faster than they are written')
    this.reportLost(lines)
  }

  reportLost(lines: number): void {
    this.#backlog.countLost(lines)
    this.#schedule(this.#options.retryDelayMs)
  }

  rekey(key: AuditKey): void {
    this.#add({ content: () => eventLine(epochMs(), 'key', { next: key.id }), bytes: 0, nextKey: key })
  }

  isAt(path: string): Promise<boolean> {
    return this.#output.isAt(path)
  }

  configureFile({ file, rotate }: Pick<AuditConfig, 'file' | 'rotate'>): void {
    this.#output.name = file
    this.#output.rotateBytes = rotate
  }

  /** Continues in another file if this one was moved away or is full. */
  reopen(): Promise<void> {
    return this.#queue.run(() => this.#lookAtFile())
  }

  /** Syncs the file, and logs the end of the chain if it has moved. */
  checkpoint(): Promise<void> {
    return this.#queue.run(async () => {
      await this.#lookAtFile()
      await this.#checkpoint()
    })
  }

  async close(reason: AuditEndReason): Promise<UnwrittenLines> {
    this.#backlog.addLostLine()
    this.#add({ content: () => eventLine(epochMs(), 'end', { reason }), bytes: 0 })
    return this.#queue.run(async () => {
      await this.#write()
      await this.#checkpoint()
      this.#isClosed = true
      for (const timer of [this.#writeTimer, this.#checkpointTimer]) timer.clear()
      this.#health.close()
      const left = [...(this.#batch?.unwritten().waiting ?? []), ...this.#backlog.lines]
      await this.#output.close().catch(() => {})
      return {
        lines: left.flatMap(({ content }) => (typeof content === 'string' ? [content] : [])),
        lost: left.reduce((sum, { lost = 0 }) => sum + lost, 0),
      }
    })
  }

  #setCheckpoint(): void {
    this.#checkpointTimer.set(this.#isClosed ? null : this.#options.checkpointIntervalMs)
  }

  #add(line: PendingLine): void {
    this.#backlog.add(line)
    this.#schedule(this.#options.batchDelayMs)
  }

  #schedule(ms: number): void {
    if (this.#isScheduled || this.#isClosed) return
    this.#isScheduled = true
    this.#writeTimer.set(ms)
  }

  #retryLater(): void {
    this.#writeTimer.clear()
    this.#isScheduled = false
    this.#schedule(this.#options.retryDelayMs)
  }

  #writeSoon(): void {
    void this.#queue.run(() => this.#write())
  }

  /** Lines that arrive meanwhile wait for the next step: under load, a checkpoint would otherwise wait forever. */
  async #write(): Promise<void> {
    if (this.#isClosed) return
    this.#isScheduled = false
    this.#writeTimer.clear()
    for (let due = this.#backlog.lines.length; due > 0 || this.#batch !== null; ) {
      if (this.#batch === null) {
        this.#batch = sealBatch(this.#position, this.#key, this.#backlog.lines)
        due -= this.#batch.lines
      }
      if (await this.#append(this.#batch)) {
        this.#backlog.bytes -= this.#batch.waitingBytes
        this.#leaveBatch(this.#batch)
        if (!this.#output.isFull || !this.#mayRollOver) continue
      } else if (!this.#output.isUnlinked) return this.#retryLater()
      if (await this.#rollOver()) due = this.#backlog.lines.length
      else if (this.#output.isUnlinked) return this.#retryLater()
    }
    if (this.#isUnsynced && !(await this.#checkpoint())) return
    if (this.#backlog.addLostLine()) this.#writeSoon()
    else this.#health.update(null)
  }

  #leaveBatch({ link, key }: Pick<SealedBatch, 'link' | 'key'>): void {
    this.#position = link
    this.#key = key
    this.#batch = null
  }

  async #append(batch: SealedBatch): Promise<boolean> {
    const { writeTimeoutMs } = this.#options
    try {
      while (batch.writtenBytes < batch.bytes.length)
        batch.writtenBytes += await this.#health.timed(
          writeTimeoutMs,
          this.#output.append(batch.bytes.subarray(batch.writtenBytes)),
        )
      return true
    } catch (error) {
      this.#health.update(errorReason(error))
      return false
    }
  }

  async #lookAtFile(): Promise<void> {
    await this.#rollOver()
    this.#disk.measure(this.#output)
  }

  /** Returns whether another file was opened. */
  async #rollOver(): Promise<boolean> {
    if (this.#isClosed) return false
    try {
      const { count } = this.#batch?.unwritten().link ?? this.#position
      const next = await this.#output.openNext(count)
      this.#mayRollOver = true
      if (next !== null) await this.#switchTo(next)
      return next !== null
    } catch (error) {
      this.#mayRollOver = false
      // While nothing can be written, the status shows this error.
      if (this.#output.isUnlinked) this.#health.update(errorReason(error))
      else this.#log.error({ file: this.#output.name, reason: errorReason(error) }, 'audit file cannot be changed')
      return false
    }
  }

  async #switchTo(next: AuditOutput): Promise<void> {
    const old = this.#output
    this.#output = next
    if (this.#batch !== null) {
      const unwritten = this.#batch.unwritten()
      this.#backlog.requeue(unwritten.waiting, this.#batch.waitingBytes)
      this.#leaveBatch(unwritten)
      this.#tornTail = extendTornTail(this.#tornTail, unwritten.link, unwritten.torn)
    }
    // If the old file's head line is unwritten, it follows: each names the line before.
    this.#backlog.requeue([pendingHeadLine('file', () => this.#tornTail)])
    await old.sync().catch(() => {})
    await old.close().catch(() => {})
    this.#writeSoon()
  }

  async #checkpoint(): Promise<boolean> {
    const { chain, count, mac: hash } = this.#position
    if (this.#lastCheckpoint === hash || count === 0) return true
    try {
      await this.#output.sync()
      this.#isUnsynced = false
    } catch (error) {
      this.#isUnsynced = true
      this.#health.update(errorReason(error))
      this.#retryLater()
      return false
    }
    this.#lastCheckpoint = hash
    this.#log.info({ chain, count, hash }, 'audit checkpoint')
    return true
  }
}
