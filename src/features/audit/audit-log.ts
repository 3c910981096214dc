import { epochMs, now, settlesWithin } from '../../core/lib/clock.ts'
import { errorMessage } from '../../core/lib/try.ts'
import type { Log } from '../../core/log/log.ts'
import type { RecordAdminEvent } from '../../core/runtime/overrides.ts'
import { type AuditEndReason, eventLine } from './audit-line.ts'
import { createStdoutOutput, type OpenedAuditOutput, openAuditFile, type StdoutQueue } from './audit-output.ts'
import type { AuditSink } from './audit-sink.ts'
import { AuditWriter, type AuditWriterState, type UnwrittenLines } from './audit-writer.ts'
import { genesis, toAuditKey } from './chain/chain.ts'
import type { AuditConfig } from './config.ts'

/** `stdout`: for `audit.file: stdout`. */
export interface AuditLogOptions {
  readonly log: Log
  readonly stdout: StdoutQueue
}

// A hanging disk must not keep the process alive.
const closeTimeoutMs = 2000

// Operators' commands come while workers start, and clients a turn or two before the file is open.
const maxEarlyLines = 20_000

export class AuditLog implements AuditSink {
  readonly #options: AuditLogOptions
  #config: AuditConfig | null = null
  #writer: AuditWriter | null = null
  /** Lines from before the first file was open. Null: it is open. */
  #early: string[] | null = []
  #earlyLost = 0
  #lostBefore = 0
  /** Writers of earlier files that still write or hand over lines. */
  readonly #closing = new Map<AuditWriter, Promise<void>>()
  #opened: OpenedAuditOutput | null = null
  onChange: (failing: boolean) => void = () => {}

  constructor(options: AuditLogOptions) {
    this.#options = options
  }

  get failing(): boolean {
    return this.#writer?.failing ?? false
  }

  get state(): AuditWriterState | null {
    const state = this.#writer?.state ?? null
    return state && { ...state, lost: this.#lostBefore + state.lost }
  }

  record(content: string): void {
    if (this.#writer !== null) this.#writer.record(content)
    else if (this.#early !== null && this.#early.length < maxEarlyLines) this.#early.push(content)
    else this.#countLost(1)
  }

  readonly recordAdminEvent: RecordAdminEvent = (event, fields) => {
    if (this.#config !== null || this.#early !== null) this.record(eventLine(epochMs(), event, fields))
  }

  recordFromWorker(lines: readonly string[], lost: number): void {
    for (const content of lines) this.record(content)
    if (lost > 0) this.#countLost(lost)
  }

  #countLost(lines: number): void {
    if (this.#writer !== null) this.#writer.countLost(lines)
    else if (this.#early !== null) this.#earlyLost += lines
  }

  /** Does every step that can fail. Rejects if `next` cannot be used. The caller calls `commit` or `discard`. */
  async prepare(next: AuditConfig | null) {
    // Two writers of one file, even by another path, would break the chain.
    if (next === null || next.file === this.#config?.file || (await this.#writer?.isAt(next.file)) === true)
      return { commit: () => this.#update(next), discard: async () => {} }
    await this.#waitUntilClosed(next.file)
    const opened = await this.#open(next)
    this.#opened = opened
    const discard = async (): Promise<void> => {
      this.#opened = null
      await opened.output.close()
    }
    return { commit: () => this.#startWriter(next, opened), discard }
  }

  reopen(): void {
    void this.#writer?.reopen()
  }

  async close(): Promise<void> {
    await this.#opened?.output.close()
    // The time includes earlier files that hand lines over.
    const until = now() + closeTimeoutMs
    const areOthersClosed = await settlesWithin(closeTimeoutMs / 2, Promise.all(this.#closing.values()))
    let left: UnwrittenLines | null = null
    const closed = this.#closeWriter('stopped', (unwritten) => {
      left = unwritten
    })
    await settlesWithin(until - now(), closed)
    this.#logLost(areOthersClosed ? left : null)
  }

  #logLost(left: UnwrittenLines | null): void {
    const lines = left && left.lines.length + left.lost
    if (lines !== 0) this.#options.log.error({ lines }, 'audit lines lost')
  }

  #update(next: AuditConfig | null): void {
    const previous = this.#config
    this.#config = next
    if (next === null) {
      this.#early = null
      return void this.#closeWriter('reconfigured', (left) => this.#logLost(left))
    }
    if (previous?.key !== next.key) this.#writer?.rekey(toAuditKey(next.key))
    this.#writer?.configureFile(next)
  }

  #startWriter(next: AuditConfig, opened: OpenedAuditOutput): void {
    this.#opened = null
    void this.#closeWriter('reconfigured', (left) => this.#takeOver(left))
    this.#config = next
    const writer = new AuditWriter(opened, toAuditKey(next.key), this.#options.log, () => this.onChange(this.failing))
    this.#writer = writer
    const early = this.#early ?? []
    this.#early = null
    for (const content of early) writer.record(content)
    if (this.#earlyLost > 0) writer.countLost(this.#earlyLost)
    this.#earlyLost = 0
    this.onChange(this.failing)
  }

  /** Takes lines over from an earlier file, and its unreported losses. */
  #takeOver(left: UnwrittenLines): void {
    if (this.#writer === null) return this.#logLost(left)
    for (const content of left.lines) this.record(content)
    if (left.lost > 0) this.#writer.reportLost(left.lost)
  }

  async #open({ file, key, rotate }: AuditConfig): Promise<OpenedAuditOutput> {
    if (file === 'stdout') return { output: createStdoutOutput(this.#options.stdout), link: genesis(), torn: null }
    return openAuditFile(file, toAuditKey(key), rotate).catch(openFailed(file))
  }

  /** An edit may go back to an earlier file while its last lines are being written. */
  async #waitUntilClosed(file: string): Promise<void> {
    for (const [writer, closed] of this.#closing)
      if ((await writer.isAt(file)) && !(await settlesWithin(closeTimeoutMs, closed)))
        openFailed(file)(new Error('the lines before it was left are not written yet'))
  }

  async #closeWriter(reason: AuditEndReason, handOn: (left: UnwrittenLines) => void): Promise<void> {
    const writer = this.#writer
    if (writer === null) return handOn({ lines: [], lost: 0 })
    this.#writer = null
    this.#lostBefore += writer.state.lost
    const closing = writer.close(reason).then(handOn)
    const closed = closing.finally(() => this.#closing.delete(writer))
    this.#closing.set(writer, closed)
    return closed
  }
}

const openFailed =
  (file: string) =>
  (error: unknown): never => {
    throw new Error(`audit.file ${file} cannot be used: ${errorMessage(error)}`)
  }
