import { wallClock, within } from '../../clock.ts'
import type { AuditConfig } from '../../config/config.ts'
import type { Log } from '../log.ts'
import type { Auditor } from './auditor.ts'
import { beginning, keyOf } from './chain.ts'
import { openFile, tryFile } from './file.ts'
import { adminLine, type EndReason, type TellOrder } from './line.ts'
import { Outbox, type SendLines } from './outbox.ts'
import { type Stdout, stdoutTarget } from './stdout.ts'
import type { Opened } from './target.ts'
import { Writer } from './writer.ts'
import type { WriterState } from './writer-state.ts'

/** Is what a reload changes here, when all of it can be: exactly one of the two is called. */
export interface Prepared {
  commit(): void
  discard(): Promise<void>
}

/** Is a chain in a file that another process still writes. */
export interface Predecessor {
  readonly file: string
  /** Resolves when it writes no more. */
  readonly over: Promise<void>
}

export interface TrailOptions {
  readonly log: Log
  readonly stdout: Stdout
  /** Null: there is none. */
  readonly before: Predecessor | null
}

// For what is there to be written. A disk that hangs does not keep the process.
const closeWithinMs = 2000

const againMs = 1000

// A handover takes as long as a write or two.
const maxEarlyLines = 20_000

/** Is the audit log of the whole gateway: the only one who writes it, as the configuration says by now. */
export class Trail implements Auditor {
  readonly #options: TrailOptions
  #config: AuditConfig | null = null
  #writer: Writer | null = null
  /** Takes lines while no writer does: another process writes still, or again. */
  #outbox: Outbox | null = null
  /** What waits until this process has begun to write, or the one before it has finished. */
  #early: string[] | null = []
  #earlyLost = 0
  #isUnopened = false
  /** What is open for a configuration that is not in effect yet. */
  #opened: Opened | null = null
  #handing: Promise<void> = Promise.resolve()
  /** Hears that lines cannot be written, and that they can be again. */
  onChange: (failing: boolean) => void = () => {}

  constructor(options: TrailOptions) {
    this.#options = options
  }

  get failing(): boolean {
    return this.#writer?.failing ?? (this.#isUnopened || this.#outbox?.isFull === true)
  }

  /** Tells how it stands; null: there is none, or another process writes it. */
  get state(): WriterState | null {
    return this.#writer?.state ?? null
  }

  /** The file that another process must not write to as well; null: there is none. */
  get file(): string | null {
    return this.#config === null || this.#config.file === 'stdout' ? null : this.#config.file
  }

  record(says: string): void {
    if (this.#writer !== null) this.#writer.record(says)
    else if (this.#early === null) this.#outbox?.add(says)
    else if (this.#early.length < maxEarlyLines) this.#early.push(says)
    else this.#lose(1)
  }

  /** Takes what operators did, or had done. */
  readonly tell: TellOrder = (event, fields) => {
    if (this.#config !== null) this.record(adminLine(wallClock(), event, fields))
  }

  /** Takes the lines of another process, and how many it has lost. */
  take(lines: readonly string[], lost: number): void {
    for (const says of lines) this.record(says)
    if (lost > 0) this.#lose(lost)
  }

  #lose(lines: number): void {
    if (this.#writer !== null) this.#writer.lose(lines)
    else if (this.#early !== null) this.#earlyLost += lines
    else this.#outbox?.lose(lines)
  }

  /** Does all that can fail before a configuration takes effect. Rejects when it cannot be enforced. */
  async prepare(next: AuditConfig | null): Promise<Prepared> {
    const was = this.#config
    if (next === null || next.file === was?.file) return { commit: () => this.#follow(next), discard: async () => {} }
    const { before } = this.#options
    if (was === null && before?.file === next.file) {
      await tryFile(next.file, keyOf(next.key)).catch(unopened(next.file))
      return { commit: () => this.#await(next, before), discard: async () => {} }
    }
    const opened = await this.#open(next)
    this.#opened = opened
    const discard = async (): Promise<void> => {
      this.#opened = null
      await opened.target.close()
    }
    return { commit: () => this.#write(next, opened), discard }
  }

  /** Looks whether the file was moved away. */
  reopen(): void {
    void this.#writer?.reopen()
  }

  /** Finishes what this process writes, and has another one write what is still to come. */
  handOver(send: SendLines): Promise<void> {
    if (this.file !== null) this.#handing = this.#handOver(send)
    return this.#handing
  }

  async #handOver(send: SendLines): Promise<void> {
    this.#early = []
    const left = await this.#end('taken over')
    const early = this.#early
    this.#early = null
    this.#outbox = new Outbox(send)
    for (const says of [...left, ...early]) this.#outbox.add(says)
    const lost = this.#takeEarlyLost()
    if (lost > 0) this.#outbox.lose(lost)
  }

  async close(): Promise<void> {
    const { log } = this.#options
    await this.#opened?.target.close()
    await within(closeWithinMs, this.#handing)
    if (this.#outbox !== null) return void (await within(closeWithinMs, this.#outbox.sent()))
    let lines: number | null = null
    await within(
      closeWithinMs,
      this.#end('stopped').then((left) => {
        lines = left.length
      }),
    )
    if (lines !== 0) log.error({ lines }, 'audit lines lost')
  }

  /** Takes over what changes without another file. */
  #follow(next: AuditConfig | null): void {
    const was = this.#config
    this.#config = next
    if (next === null) {
      this.#early = null
      return void this.#end('reconfigured')
    }
    if (was?.key !== next.key) this.#writer?.rekey(keyOf(next.key))
    this.#writer?.rotateAt(next.rotateBytes)
  }

  #write(next: AuditConfig, opened: Opened): void {
    this.#opened = null
    const ended = this.#end('reconfigured')
    this.#config = next
    this.#isUnopened = false
    const writer = new Writer(opened, keyOf(next.key), this.#options.log, () => this.onChange(this.failing))
    this.#writer = writer
    const early = this.#early ?? []
    this.#early = null
    for (const says of early) writer.record(says)
    const lost = this.#takeEarlyLost()
    if (lost > 0) writer.lose(lost)
    this.onChange(this.failing)
    // What the file before could not take.
    void ended.then((left) => {
      for (const says of left) this.record(says)
    })
  }

  /** Waits until the process before this one has finished with the file. */
  #await(next: AuditConfig, { over }: Predecessor): void {
    this.#config = next
    this.#early ??= []
    void over.then(() => this.#begin(next.key))
  }

  /** `key` is what the process before this one was started with as well: a reload may have changed it meanwhile. */
  async #begin(key: string): Promise<void> {
    const config = this.#config
    if (config === null || this.#writer !== null) return
    try {
      const opened = await this.#open({ ...config, key })
      const current = this.#config
      if (current === null || this.#writer !== null) return void (await opened.target.close()) // a reload says otherwise
      this.#write({ ...current, key }, opened)
      this.#follow(current)
    } catch (error) {
      this.#options.log.error({ reason: error instanceof Error ? error.message : String(error) }, 'audit cannot begin')
      this.#isUnopened = true
      this.onChange(true)
      setTimeout(() => void this.#begin(key), againMs).unref()
    }
  }

  async #open({ file, key, rotateBytes }: AuditConfig): Promise<Opened> {
    if (file === 'stdout') return { target: stdoutTarget(this.#options.stdout), link: beginning(), torn: null }
    return openFile(file, keyOf(key), rotateBytes).catch(unopened(file))
  }

  #takeEarlyLost(): number {
    const lost = this.#earlyLost
    this.#earlyLost = 0
    return lost
  }

  async #end(reason: EndReason): Promise<readonly string[]> {
    const writer = this.#writer
    this.#writer = null
    return (await writer?.close(reason)) ?? []
  }
}

const unopened =
  (file: string) =>
  (error: unknown): never => {
    throw new Error(`audit.file ${file} cannot be used: ${error instanceof Error ? error.message : String(error)}`)
  }
