import { CoalescedTimer, epochMs, now, withTimeout } from '../../core/lib/clock.ts'
import type { ConnectRedis, RedisConnection } from './redis-connection.ts'
import type { RedisScript, ScriptArgs, ScriptOptions } from './redis-server.ts'
import { errorText } from './redis-settings.ts'

// Late or failed commands in a row: fewer are a hiccup.
const maxConsecutiveFailures = 5

// Timely replies in a row before requests use a slow connection again. With fewer, a connection that is sometimes in
// time would be used and dropped several times a second.
const requiredProbes = 3

// Random: Redis is used within a second of its return, but not by all gateways at once.
const pauseMs = { min: 100, max: 300 } as const

// A connection without a reply for this long is replaced.
const maxSilenceMs = 1000

interface ManagedRedisOptions {
  readonly connect: ConnectRedis
  readonly timeoutMs: number
  /** Config key of the timeout, named in reasons. */
  readonly timeoutKey?: string
  readonly redact?: (reason: string) => string
  readonly onChange: (isShared: boolean, reason: string | null) => void
}

export type RedisState = Pick<ManagedRedis, 'isShared' | 'since' | 'reason'>

/** A connection with a circuit breaker: requests do not wait for a Redis that is down or slow. */
export class ManagedRedis {
  isShared = false
  since = epochMs()
  /** Why Redis is not used. Null: it is, or the first attempt has not ended. */
  reason: string | null = null
  readonly #options: ManagedRedisOptions
  readonly timeoutMs: number
  readonly #firstOutcome = Promise.withResolvers<void>()
  /** Resolves after the first attempt to connect. */
  readonly settled = this.#firstOutcome.promise
  #connection: RedisConnection | null = null
  #failures = 0
  #lastFailure: string | null = null
  #isClosed = false
  /** A Redis that is down at the start is reported too. */
  #wasReported = false
  /** The first late reply that is still missing. */
  #lateReply: Promise<unknown> | null = null
  readonly #silenceTimer = new CoalescedTimer(() => {
    this.#lateReply = null
    if (this.isShared) this.#interrupt(`no reply within ${maxSilenceMs}ms`)
  })
  #interrupt = (_reason: string): void => {}

  constructor(options: ManagedRedisOptions) {
    this.#options = options
    this.timeoutMs = options.timeoutMs
    void this.#maintain()
  }

  /** Why the last failed command had no reply. */
  get failure(): string | null {
    return this.isShared ? this.#lastFailure : this.reason
  }

  /** Null: no reply within `waitMs`, by default {@link timeoutMs}. */
  consume(key: string, perMs: number, burst: number, waitMs?: number): Promise<number | null> {
    return this.#call((connection) => connection.consume(key, perMs, burst), waitMs, waitMs)
  }

  /** Null: no reply within `waitMs`, or too few replicas. Only a reply within `timeoutMs` ends a row of failures. */
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
    waitMs = this.timeoutMs,
    promptMs = this.timeoutMs,
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

  /** A reply still missing after 1 s may block others, so the connection is probed again. */
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

  /** Rejects with the reason when it cannot connect. */
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
      const reply = connection.probe()
      const isPrompt = (await withTimeout(reply, this.timeoutMs)) !== null
      if (!isPrompt && (await withTimeout(reply, maxSilenceMs)) === null)
        throw new Error(`no reply within ${maxSilenceMs}ms`)
      if (isLost()) break
      if (!isPrompt) this.#setShared(false, this.#describeLateness(this.timeoutMs))
      probesLeft = isPrompt ? probesLeft - 1 : requiredProbes
      if (probesLeft === 0) {
        await this.#serve(isLost)
        probesLeft = requiredProbes
      }
      if (!isLost()) await this.#pauseBeforeRetry(probesLeft < requiredProbes)
    }
    this.#setShared(false, lost ?? 'closed')
  }

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
    // Also after a retry: "connection refused" says more than "connection lost".
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

  /** Such as `no reply within 20ms (cache.redis.timeout)`. */
  #describeLateness(waitMs: number): string {
    const { timeoutKey } = this.#options
    const isOwn = timeoutKey !== undefined && waitMs === this.timeoutMs
    return `no reply within ${waitMs}ms${isOwn ? ` (${timeoutKey})` : ''}`
  }
}
