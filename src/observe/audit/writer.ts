import { Alarm, wallClock } from '../../clock.ts'
import type { Log } from '../log.ts'
import { Backlog, Batch, headOf, Remains, type Waiting } from './backlog.ts'
import type { Key, Link } from './chain.ts'
import { Health, usualBounds } from './health.ts'
import { type EndReason, endLine, keyLine } from './line.ts'
import type { Opened, Target } from './target.ts'

/** How it stands with a writer. */
export type WriterState = Writer['state']

/** Writes lines to one chain: gathers, seals and appends them, and tries again what could not be written. All that it does is done in turn. */
export class Writer {
  readonly #log: Log
  readonly #bounds: typeof usualBounds
  readonly #health: Health
  #target: Target
  /** What is written: the batch under way begins behind it. */
  #link: Link
  #key: Key
  /** What stands behind what is written. */
  #remains: Remains
  readonly #backlog: Backlog
  #batch: Batch | null = null
  #checkpointed = ''
  #isUnsynced = false
  #turns: Promise<unknown> = Promise.resolve()
  #isOver = false
  /** Set while lines wait for others, or for the next try. */
  readonly #next = new Alarm(() => this.#soon())
  #isDue = false
  readonly #minute = new Alarm(
    () => void this.checkpoint().then(() => this.#minute.set(this.#isOver ? null : this.#bounds.checkpointMs)),
  )
  /** Where it failed it is tried again by the next checkpoint, not after each batch. */
  #mayMove = true

  /** Begins with a line that says what it goes on with. */
  constructor(
    { target, link, torn }: Opened,
    key: Key,
    log: Log,
    onHealth: (failing: boolean) => void,
    bounds = usualBounds,
  ) {
    this.#target = target
    this.#link = link
    this.#key = key
    this.#remains = new Remains(link, torn)
    this.#log = log
    this.#bounds = bounds
    this.#backlog = new Backlog(bounds.maxWaitingBytes)
    this.#health = new Health(log, onHealth)
    this.#add(headOf('start', () => this.#remains, { pid: process.pid }))
    if (torn !== null) log.warn({ file: target.name, bytes: torn.length }, 'audit file ended in a torn line')
    this.#minute.set(bounds.checkpointMs)
  }

  get failing(): boolean {
    return this.#health.reason !== null
  }

  /**
   * How it stands, for /status: how many lines the chain has that are written, the HMAC of the last, and why none can
   * be written now.
   */
  get state() {
    const { chain, count, mac: hash } = this.#link
    const { reason, since, lost } = this.#health
    return { file: this.#target.name, chain, count, hash, reason, since, waitingBytes: this.#backlog.bytes, lost }
  }

  /** Takes what a line says. */
  record(says: string): void {
    if (!this.#backlog.hasRoomFor(says)) return this.lose(1)
    this.#backlog.tellLost()
    this.#add({ says, bytes: says.length })
  }

  /** Counts lines that were lost: a line tells of them in their place. */
  lose(lines: number): void {
    this.#backlog.lose(lines)
    this.#health.lost += lines
    this.#health.is(this.#health.reason ?? 'lines come faster than they are written')
    this.#wake(this.#bounds.retryMs)
  }

  /** Has lines sealed with another key from now on, as a last line with this one says. */
  rekey(key: Key): void {
    this.#add({ says: () => keyLine(wallClock(), key), bytes: 0, after: key })
  }

  /** Has files rotated at another size. */
  rotateAt(bytes: number | null): void {
    this.#target.rotateBytes = bytes
  }

  /** Goes on in another file, if this one has been moved away or is full. */
  reopen(): Promise<void> {
    return this.#inTurn(async () => void (await this.#move()))
  }

  /** Has what is written survive, and tells the log where the chain stands, if that is somewhere else than before. */
  checkpoint(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#move()
      await this.#checkpoint()
    })
  }

  /** Writes what waits and a last line, and closes the file. Resolves with what could not be written. */
  async close(reason: EndReason): Promise<readonly string[]> {
    this.#backlog.tellLost()
    this.#add({ says: () => endLine(wallClock(), reason), bytes: 0 })
    return this.#inTurn(async () => {
      await this.#write()
      await this.#checkpoint()
      this.#isOver = true
      for (const alarm of [this.#next, this.#minute]) alarm.clear()
      this.#health.close()
      const left = [...(this.#batch?.undone().waiting ?? []), ...this.#backlog.lines]
      await this.#target.close().catch(() => {})
      return left.flatMap(({ says }) => (typeof says === 'string' ? [says] : []))
    })
  }

  #add(waiting: Waiting): void {
    this.#backlog.add(waiting)
    this.#wake(this.#bounds.gatherMs)
  }

  /** Sees that it is written after that time; when that is seen to already, it stays so. */
  #wake(ms: number): void {
    if (this.#isDue || this.#isOver) return
    this.#isDue = true
    this.#next.set(ms)
  }

  /** Tries again, though not for each line that comes meanwhile. */
  #later(): void {
    this.#next.clear()
    this.#isDue = false
    this.#wake(this.#bounds.retryMs)
  }

  #soon(): void {
    void this.#inTurn(() => this.#write())
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turns.then(work)
    this.#turns = done.catch(() => {})
    return done
  }

  /**
   * Writes what waits, unless that fails. What comes meanwhile has a turn of its own: under load there is always something, and a checkpoint,
   * or the news that lines can be written again, would wait for ever.
   */
  async #write(): Promise<void> {
    if (this.#isOver) return
    this.#isDue = false
    this.#next.clear()
    for (let due = this.#backlog.lines.length; due > 0 || this.#batch !== null; ) {
      if (this.#batch === null) {
        this.#batch = new Batch(this.#link, this.#key, this.#backlog.lines)
        due -= this.#batch.lines
      }
      if (await this.#put(this.#batch)) {
        this.#written(this.#batch)
        if (!this.#target.isFull || !this.#mayMove) continue
      } else if (!this.#target.isGone) return this.#later()
      if (await this.#move()) due = this.#backlog.lines.length
      else if (this.#target.isGone) return this.#later()
    }
    if (this.#isUnsynced && !(await this.#checkpoint())) return
    if (this.#backlog.tellLost()) this.#soon()
    else this.#health.is(null)
  }

  #written(batch: Batch): void {
    this.#backlog.forget(batch.waitingBytes)
    this.#link = batch.link
    this.#key = batch.key
    this.#batch = null
  }

  async #put(batch: Batch): Promise<boolean> {
    const { slowMs } = this.#bounds
    try {
      while (!batch.isWritten)
        batch.taken += await this.#health.timed(slowMs, this.#target.append(batch.bytes.subarray(batch.taken)))
      return true
    } catch (error) {
      this.#health.is(message(error))
      return false
    }
  }

  /** Goes on in another file where this one is full or not where it was; tells whether it does. */
  async #move(): Promise<boolean> {
    if (this.#isOver) return false
    try {
      const { count } = this.#batch?.undone().link ?? this.#link
      const next = await this.#target.next(count)
      this.#mayMove = true
      if (next !== null) await this.#goOnIn(next)
      return next !== null
    } catch (error) {
      this.#mayMove = false
      // Where nothing can be written meanwhile, that is what is told.
      if (this.#target.isGone) this.#health.is(message(error))
      else this.#log.error({ file: this.#target.name, reason: message(error) }, 'audit file cannot be changed')
      return false
    }
  }

  async #goOnIn(next: Target): Promise<void> {
    const old = this.#target
    this.#target = next
    if (this.#batch !== null) {
      const undone = this.#batch.undone()
      this.#link = undone.link
      this.#key = undone.key
      this.#backlog.putBack(undone.waiting, this.#batch.waitingBytes)
      this.#batch = null
      this.#remains = this.#remains.with(undone.link, undone.torn)
    }
    // A head line that did not get to the old file would be followed by this one: both say what they follow.
    this.#backlog.putBack([headOf('file', () => this.#remains)])
    await old.sync().catch(() => {})
    await old.close().catch(() => {})
    this.#soon()
  }

  async #checkpoint(): Promise<boolean> {
    const { chain, count, mac: hash } = this.#link
    if (this.#checkpointed === hash || count === 0) return true
    try {
      await this.#target.sync()
      this.#isUnsynced = false
    } catch (error) {
      this.#isUnsynced = true
      this.#health.is(message(error))
      this.#later()
      return false
    }
    this.#checkpointed = hash
    this.#log.info({ chain, count, hash }, 'audit checkpoint')
    return true
  }
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error))
