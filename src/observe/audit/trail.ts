import { wallClock, within } from '../../clock.ts'
import type { AuditConfig } from '../../config/config.ts'
import type { Log } from '../log.ts'
import { beginning, keyOf } from './chain.ts'
import { openFile } from './file.ts'
import { type Auditor, adminLine, type EndReason, type TellOrder } from './line.ts'
import { type Opened, type Stdout, stdoutTarget } from './target.ts'
import { Writer, type WriterState } from './writer.ts'

/** Is what a reload changes here, when all of it can be: exactly one of the two is called. */
export interface Prepared {
  commit(): void
  discard(): Promise<void>
}

export interface TrailOptions {
  readonly log: Log
  readonly stdout: Stdout
}

// For what is there to be written. A disk that hangs does not keep the process.
const closeWithinMs = 2000

// Clients are let in a turn or two before the file is written.
const maxEarlyLines = 20_000

/** Is the audit log of the whole gateway: the only one who writes it, as the configuration says by now. */
export class Trail implements Auditor {
  readonly #options: TrailOptions
  #config: AuditConfig | null = null
  #writer: Writer | null = null
  /** What waits until this process has begun to write. */
  #early: string[] | null = []
  #earlyLost = 0
  /** What is open for a configuration that is not in effect yet. */
  #opened: Opened | null = null
  /** Hears that lines cannot be written, and that they can be again. */
  onChange: (failing: boolean) => void = () => {}

  constructor(options: TrailOptions) {
    this.#options = options
  }

  get failing(): boolean {
    return this.#writer?.failing ?? false
  }

  /** Tells how it stands; null: there is none. */
  get state(): WriterState | null {
    return this.#writer?.state ?? null
  }

  record(says: string): void {
    if (this.#writer !== null) this.#writer.record(says)
    else if (this.#early !== null && this.#early.length < maxEarlyLines) this.#early.push(says)
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
  }

  /** Does all that can fail before a configuration takes effect. Rejects when it cannot be enforced. */
  async prepare(next: AuditConfig | null): Promise<Prepared> {
    if (next === null || next.file === this.#config?.file)
      return { commit: () => this.#follow(next), discard: async () => {} }
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

  async close(): Promise<void> {
    const { log } = this.#options
    await this.#opened?.target.close()
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
    this.#writer?.rotateAt(next.rotate)
  }

  #write(next: AuditConfig, opened: Opened): void {
    this.#opened = null
    const ended = this.#end('reconfigured')
    this.#config = next
    const writer = new Writer(opened, keyOf(next.key), this.#options.log, () => this.onChange(this.failing))
    this.#writer = writer
    const early = this.#early ?? []
    this.#early = null
    for (const says of early) writer.record(says)
    if (this.#earlyLost > 0) writer.lose(this.#earlyLost)
    this.#earlyLost = 0
    this.onChange(this.failing)
    // What the file before could not take.
    void ended.then((left) => {
      for (const says of left) this.record(says)
    })
  }

  async #open({ file, key, rotate }: AuditConfig): Promise<Opened> {
    if (file === 'stdout') return { target: stdoutTarget(this.#options.stdout), link: beginning(), torn: null }
    return openFile(file, keyOf(key), rotate).catch(unopened(file))
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
