import { Alarm, inTime, wallClock } from '../../clock.ts'
import type { Connect, Connection, Given, Script } from './client.ts'

// So many in a row that are late or fail: fewer is a hiccup, and each has been counted here meanwhile.
const tolerated = 5

// A connection that was too slow has to be in time so often in a row before requests wait for it again: one that is in time now and then would
// be taken and given up several times a second.
const trials = 3

// How often it is tried again, at most and at least: within a second of its return it is used again, and gateways do not come all at once.
const pauseMs = { least: 100, most: 300 } as const

// A connection that says nothing for so long is given up for a new one.
const silentMs = 1000

/** Is what a link needs to know. */
export interface LinkOptions {
  readonly connect: Connect
  /** How long an answer is waited for. */
  readonly timeoutMs: number
  /** The key that is taken of to find out whether Redis does its work. */
  readonly probeKey: string
  /** Takes out of a reason what nobody should read; else it is in the words of the system, the library or the server. */
  readonly shown?: (reason: string) => string
  /** Is told of each change, and why. */
  readonly onChange: (isShared: boolean, reason: string | null) => void
}

/**
 * Is the link to Redis, and its breaker: while Redis is down or slow, nobody asks it, so nobody waits for it. It is tried again behind the
 * requests' backs, by doing what they would do.
 */
export class RedisLink {
  isShared = false
  /** Since when it is so, in milliseconds since the epoch. */
  since = wallClock()
  /** Why it is not shared; null: it is, or nobody knows yet. */
  reason: string | null = null
  readonly #options: LinkOptions
  #connection: Connection | null = null
  #failures = 0
  #isClosed = false
  /** Whether anybody was told yet: that it is down at the start is news. */
  #wasTold = false
  /** What is late and has not come yet: the first of those that there are. */
  #watched: Promise<unknown> | null = null
  readonly #silence = new Alarm(() => {
    this.#watched = null
    if (this.isShared) this.#wake(`no answer within ${silentMs}ms`)
  })
  /** Ends whatever is waited for. */
  #wake = (_reason: string): void => {}

  constructor(options: LinkOptions) {
    this.#options = options
    void this.#run()
  }

  /** How long an answer is waited for, unless somebody says otherwise. */
  get timeoutMs(): number {
    return this.#options.timeoutMs
  }

  /** Takes one of a bucket. Resolves with null when there was no answer, or none in time: as usual, or `waitMs`. */
  take(key: string, perMs: number, burst: number, waitMs?: number): Promise<number | null> {
    return this.#ask((connection) => connection.take(key, perMs, burst), waitMs)
  }

  /** Runs a script. Resolves with null when there was no answer, or none in time: as usual, or `waitMs`. */
  run(script: Script, given: Given, waitMs?: number): Promise<unknown> {
    return this.#ask((connection) => connection.run(script, given), waitMs)
  }

  #ask<T>(question: (connection: Connection) => Promise<T>, waitMs = this.#options.timeoutMs): Promise<T | null> {
    const connection = this.#connection
    if (!this.isShared || connection === null) return Promise.resolve(null)
    const outcome = question(connection)
    return inTime(outcome, waitMs).then(
      (answer) => {
        if (answer !== null) {
          this.#failures = 0
          return answer
        }
        this.#failed(`no answer within ${waitMs}ms`)
        this.#watch(outcome)
        return null
      },
      (error) => {
        this.#failed(reasonOf(error))
        return null
      },
    )
  }

  /** Watches what nobody waits for any more. Where it does not come at all, the connection is tried: what comes on it may have no end. */
  #watch(outcome: Promise<unknown>): void {
    if (this.#watched !== null || !this.isShared) return
    this.#watched = outcome
    this.#silence.set(silentMs)
    const came = (): void => {
      if (this.#watched !== outcome) return
      this.#watched = null
      this.#silence.clear()
    }
    outcome.then(came, came)
  }

  /** Ends it. */
  close(): void {
    this.#isClosed = true
    this.isShared = false
    this.#connection?.destroy()
    this.#connection = null
    this.#silence.clear()
    this.#wake('closed')
  }

  #failed(reason: string): void {
    if (this.isShared && ++this.#failures >= tolerated) this.#wake(reason)
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#use()
      } catch (error) {
        this.#tell(false, reasonOf(error))
      }
      this.#connection?.destroy()
      this.#connection = null
      await this.#pause()
    }
  }

  /** Connects, and uses the connection as long as it lasts. Rejects with the reason why it does not. */
  async #use(): Promise<void> {
    let lost: string | null = null
    const connection = await this.#options.connect((reason) => {
      lost ??= reasonOf(reason)
      this.#wake(lost)
    })
    this.#connection = connection
    const isLost = (): boolean => this.#isClosed || lost !== null
    let left = 1
    while (!isLost()) {
      const { timeoutMs, probeKey } = this.#options
      const answer = connection.take(probeKey, 1, 1000)
      const isPrompt = (await inTime(answer, timeoutMs)) !== null
      if (!isPrompt && (await inTime(answer, silentMs)) === null) throw new Error(`no answer within ${silentMs}ms`)
      if (isLost()) break
      if (!isPrompt) this.#tell(false, `no answer within ${timeoutMs}ms`)
      left = isPrompt ? left - 1 : trials
      if (left === 0) {
        await this.#share(isLost)
        left = trials
      }
      if (!isLost()) await this.#pause(left < trials)
    }
    this.#tell(false, lost ?? 'closed')
  }

  /** Has everybody ask, until that is no good any more. */
  async #share(isLost: () => boolean): Promise<void> {
    this.#failures = 0
    const over = new Promise<string>((resolve) => {
      this.#wake = resolve
    })
    this.#tell(true, null)
    const reason = isLost() ? 'lost' : await over
    this.#tell(false, reason)
  }

  #tell(isShared: boolean, reason: string | null): void {
    const { shown = (each) => each, onChange } = this.#options
    if (this.#isClosed) return
    this.reason = reason && shown(reason) // also of a further try: that a connection was lost says less than that it is refused
    if (this.isShared === isShared && this.#wasTold) return
    this.#wasTold = true
    this.isShared = isShared
    this.since = wallClock()
    onChange(isShared, this.reason)
  }

  #pause(briefly = false): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    return new Promise((resolve) => {
      const alarm = new Alarm(() => resolve())
      const most = briefly ? pauseMs.least : pauseMs.most
      alarm.set(Math.round(pauseMs.least + Math.random() * (most - pauseMs.least)))
      this.#wake = () => {
        alarm.clear()
        resolve()
      }
    })
  }
}

/** Says what went wrong, in words of the system, the library or the server. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  return error.message === '' && code !== undefined ? code : error.message
}
