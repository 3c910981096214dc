import { CoalescedTimer, epochMs, now, withTimeout } from '../../core/lib/clock.ts'
import type { ConnectRedis, RedisConnection } from './redis-connection.ts'
import type { RedisScript, ScriptArgs, ScriptOptions } from './redis-server.ts'
import { errorText } from './redis-settings.ts'

// So many late or failed commands in a row: fewer is a hiccup, and this gateway has counted each by itself meanwhile.
const maxConsecutiveFailures = 5

// A connection that was too slow has to be in time so often in a row before requests use it again. One that is in time
// now and then would be taken up and given up several times a second.
const requiredProbes = 3

// The pause between tries, at random: within a second of its return Redis is used again, and gateways do not come all
// at once.
const pauseMs = { min: 100, max: 300 } as const

// A connection that is silent for so long is given up for a new one.
const maxSilenceMs = 1000

interface ManagedRedisOptions {
  readonly connect: ConnectRedis
  readonly timeoutMs: number
  /** The key of the file that says so, for operators; by default none. */
  readonly timeoutKey?: string
  /** Removes secrets from a reason, which is in the words of the system, the library or the server. */
  readonly redact?: (reason: string) => string
  /** Called on each change, with the reason. */
  readonly onChange: (isShared: boolean, reason: string | null) => void
}

/** How a connection stands: whether it is used, since when, and why it is not. */
export type RedisState = Pick<ManagedRedis, 'isShared' | 'since' | 'reason'>

/**
 * The connection to Redis, and its circuit breaker: while Redis is down or slow, no request asks it, so none waits for
 * it. It is tried again in the background, with the commands that requests would send.
 */
export class ManagedRedis {
  isShared = false
  /** Since when it is so, in milliseconds since the epoch. */
  since = epochMs()
  /** Why it is not shared. Null: it is, or that is not known yet. */
  reason: string | null = null
  readonly #options: ManagedRedisOptions
  readonly #firstOutcome = Promise.withResolvers<void>()
  #connection: RedisConnection | null = null
  #failures = 0
  #lastFailure: string | null = null
  #isClosed = false
  /** Whether the state was reported yet: that Redis is down at the start is news. */
  #wasReported = false
  /** The first reply that is late and has not come yet. */
  #lateReply: Promise<unknown> | null = null
  readonly #silenceTimer = new CoalescedTimer(() => {
    this.#lateReply = null
    if (this.isShared) this.#interrupt(`no answer within ${maxSilenceMs}ms`)
  })
  #interrupt = (_reason: string): void => {}

  constructor(options: ManagedRedisOptions) {
    this.#options = options
    void this.#maintain()
  }

  /** Resolves when it is known for the first time whether Redis can be asked. */
  get settled(): Promise<void> {
    return this.#firstOutcome.promise
  }

  /** Why a command had no reply last; null: each had one. */
  get failure(): string | null {
    return this.isShared ? this.#lastFailure : this.reason
  }

  get timeoutMs(): number {
    return this.#options.timeoutMs
  }

  /**
   * Consumes one token of a bucket. Resolves with null when there was no reply in time, by default {@link timeoutMs}.
   */
  consume(key: string, perMs: number, burst: number, waitMs?: number): Promise<number | null> {
    return this.#call((connection) => connection.consume(key, perMs, burst), waitMs, waitMs)
  }

  /**
   * Runs a script. Resolves with null when there was no reply in time, by default {@link timeoutMs}. No request waits
   * longer than that for a script: a later reply does not show that Redis is in time for requests. Too few replicas
   * are a failure too.
   */
  run(
    script: RedisScript,
    args: ScriptArgs,
    { waitMs, ...options }: ScriptOptions & { readonly waitMs?: number } = {},
  ): Promise<unknown> {
    return this.#call((connection) => connection.run(script, args, options), waitMs)
  }

  /** A reply within `promptMs` ends a row of failures. */
  #call<T>(
    command: (connection: RedisConnection) => Promise<T>,
    waitMs = this.#options.timeoutMs,
    promptMs = this.#options.timeoutMs,
  ): Promise<T | null> {
    const connection = this.#connection
    if (!this.isShared || connection === null) return Promise.resolve(null)
    const sentAt = now()
    const outcome = command(connection)
    return withTimeout(outcome, waitMs).then(
      (reply) => {
        if (reply !== null) {
          if (now() - sentAt <= promptMs) this.#failures = 0
          return reply
        }
        this.#recordFailure(this.#describeLateness(waitMs))
        this.#watchLateReply(outcome)
        return null
      },
      (error) => {
        this.#recordFailure(errorText(error))
        return null
      },
    )
  }

  /** Watches a late reply. Where it does not come at all, the connection is probed again: the reply may have no end. */
  #watchLateReply(outcome: Promise<unknown>): void {
    if (this.#lateReply !== null || !this.isShared) return
    this.#lateReply = outcome
    this.#silenceTimer.set(maxSilenceMs)
    const onReply = (): void => {
      if (this.#lateReply !== outcome) return
      this.#lateReply = null
      this.#silenceTimer.clear()
    }
    outcome.then(onReply, onReply)
  }

  close(): void {
    this.#isClosed = true
    this.isShared = false
    this.#firstOutcome.resolve()
    this.#connection?.destroy()
    this.#connection = null
    this.#silenceTimer.clear()
    this.#interrupt('closed')
  }

  #recordFailure(reason: string): void {
    this.#lastFailure = this.#redact(reason)
    if (this.isShared && ++this.#failures >= maxConsecutiveFailures) this.#interrupt(reason)
  }

  async #maintain(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#useConnection()
      } catch (error) {
        this.#setShared(false, errorText(error))
      }
      this.#connection?.destroy()
      this.#connection = null
      await this.#pauseBeforeRetry()
    }
  }

  /** Connects, and uses the connection as long as it lasts. Rejects with the reason why it does not. */
  async #useConnection(): Promise<void> {
    let lost: string | null = null
    const connection = await this.#options.connect((reason) => {
      if (lost !== null) return
      lost = errorText(reason)
      this.#interrupt(lost)
    })
    this.#connection = connection
    const isLost = (): boolean => this.#isClosed || lost !== null
    let probesLeft = 1
    while (!isLost()) {
      const { timeoutMs } = this.#options
      const reply = connection.probe()
      const isPrompt = (await withTimeout(reply, timeoutMs)) !== null
      if (!isPrompt && (await withTimeout(reply, maxSilenceMs)) === null)
        throw new Error(`no answer within ${maxSilenceMs}ms`)
      if (isLost()) break
      if (!isPrompt) this.#setShared(false, this.#describeLateness(timeoutMs))
      probesLeft = isPrompt ? probesLeft - 1 : requiredProbes
      if (probesLeft === 0) {
        await this.#serve(isLost)
        probesLeft = requiredProbes
      }
      if (!isLost()) await this.#pauseBeforeRetry(probesLeft < requiredProbes)
    }
    this.#setShared(false, lost ?? 'closed')
  }

  /** Lets requests use the connection, until it fails. */
  async #serve(isLost: () => boolean): Promise<void> {
    this.#failures = 0
    const interrupted = new Promise<string>((resolve) => {
      this.#interrupt = resolve
    })
    this.#setShared(true, null)
    const reason = isLost() ? 'lost' : await interrupted
    this.#setShared(false, reason)
  }

  #setShared(isShared: boolean, reason: string | null): void {
    if (this.#isClosed) return
    // Also after a retry: that a connection was lost says less than that it is refused.
    this.reason = reason && this.#redact(reason)
    if (this.isShared === isShared && this.#wasReported) return
    this.#wasReported = true
    this.isShared = isShared
    this.since = epochMs()
    this.#firstOutcome.resolve()
    this.#options.onChange(isShared, this.reason)
  }

  #redact(reason: string): string {
    return this.#options.redact?.(reason) ?? reason
  }

  #pauseBeforeRetry(briefly = false): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = new CoalescedTimer(() => resolve())
      const maxMs = briefly ? pauseMs.min : pauseMs.max
      timer.set(Math.round(pauseMs.min + Math.random() * (maxMs - pauseMs.min)))
      this.#interrupt = () => {
        timer.clear()
        resolve()
      }
    })
  }

  /** Describes that a reply is late, with the key of the limit: `no answer within 20ms (cache.redis.timeout)`. */
  #describeLateness(waitMs: number): string {
    const { timeoutMs, timeoutKey } = this.#options
    return `no answer within ${waitMs}ms${timeoutKey === undefined || waitMs !== timeoutMs ? '' : ` (${timeoutKey})`}`
  }
}
