import { Alarm, wallClock } from '../../clock.ts'
import type { Connect, Connection } from './connection.ts'
import { reasonOf } from './reason.ts'

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
  /** Is told of each change, and why: in words of the system, the library or the server. */
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
  readonly #options: LinkOptions
  #connection: Connection | null = null
  #failures = 0
  #isClosed = false
  /** Whether anybody was told yet: that it is down at the start is news. */
  #wasTold = false
  /** Ends whatever is waited for. */
  #wake = (_reason: string): void => {}

  constructor(options: LinkOptions) {
    this.#options = options
    void this.#run()
  }

  /** Takes one of a bucket. Resolves with null when there was no answer, or none in time: as usual, or `waitMs`. */
  take(key: string, perMs: number, burst: number, waitMs = this.#options.timeoutMs): Promise<number | null> {
    const connection = this.#connection
    if (!this.isShared || connection === null) return Promise.resolve(null)
    return inTime(connection.take(key, perMs, burst), waitMs).then(
      (outcome) => {
        if (outcome === null) this.#failed(`no answer within ${waitMs}ms`)
        else this.#failures = 0
        return outcome
      },
      (error) => {
        this.#failed(reasonOf(error))
        return null
      },
    )
  }

  /** Ends it. */
  close(): void {
    this.#isClosed = true
    this.isShared = false
    this.#connection?.destroy()
    this.#connection = null
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
    const isNews = this.isShared !== isShared || !this.#wasTold
    if (this.#isClosed || !isNews) return
    this.#wasTold = true
    this.isShared = isShared
    this.since = wallClock()
    this.#options.onChange(isShared, reason)
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

/** Waits for an outcome; null: it was late. What has come while this process was busy is read first, and is not late. */
const inTime = (outcome: Promise<number>, ms: number): Promise<number | null> =>
  new Promise((resolve, reject) => {
    const alarm = new Alarm(() => setImmediate(resolve, null))
    alarm.set(ms)
    outcome.then(
      (got) => {
        alarm.clear()
        resolve(got)
      },
      (error) => {
        alarm.clear()
        reject(error)
      },
    )
  })
