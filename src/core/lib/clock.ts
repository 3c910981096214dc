/** The only reader of time. Tests replace it with fake timers. */

/** Returns monotonic time in milliseconds, for durations. */
export const now = (): number => performance.now()

/**
 * Returns wall-clock time in milliseconds since the epoch: for records, and to compare with a time that a client, an
 * upstream or an issuer has written (`Date`, `exp`, `iat`). Operators and NTP set it forward and back, so no duration
 * is measured by it.
 */
export const epochMs = (): number => Date.now()

/** Returns a moment of the monotonic clock in milliseconds since the epoch, as the wall clock stands now. */
export const toEpochMs = (at: number): number => Math.round(epochMs() + at - now())

const startedAt = Number(process.hrtime.bigint()) / 1e6 - now()

/** Returns the monotonic time of the system in milliseconds: it is the same in all processes of a machine. */
export const systemMs = (): number => startedAt + now()

/** Returns a moment of {@link systemMs} as {@link toEpochMs} does one of {@link now}. */
export const systemToEpochMs = (at: number): number => toEpochMs(at - startedAt)

/** Returns the monotonic time of the system in microseconds, which other processes read as CLOCK_MONOTONIC. */
export const monotonicMicroseconds = (): bigint => process.hrtime.bigint() / 1000n

/** Waits for a promise, for at most `ms`; resolves to whether it settled in time. Rejects as the promise does. */
export const settlesWithin = async (ms: number, promise: Promise<unknown>): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

// So much of a standstill counts as waiting, in milliseconds.
const waitStepMs = 50

/**
 * Tells whether a promise settles within a time that the process has waited for it. A standstill of the process counts
 * as one step: an answer that came meanwhile could not be read. Rejects as the promise does.
 */
export const settlesWithinWait = async (ms: number, promise: Promise<unknown>): Promise<boolean> => {
  for (let left = ms; left > 0; left -= waitStepMs)
    if (await settlesWithin(Math.min(waitStepMs, left), promise)) return true
  return false
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Calls back once, unless it is stopped first; at once where the time has passed. This timer alone keeps no process
 * alive: it is for background work.
 */
export const unrefTimeout = (ms: number, call: () => void): (() => void) => {
  const timer = setTimeout(call, Math.max(0, ms)) // Node warns on stderr of a negative one
  timer.unref()
  return () => clearTimeout(timer)
}

/**
 * The timers of one duration that are set, soonest first: a timer that is set later is due later, so the list sorts
 * itself.
 */
interface TimerQueue {
  readonly ms: number
  first: CoalescedTimer | null
  last: CoalescedTimer | null
  timer: NodeJS.Timeout | null
  /** Whether what had arrived while the process stood still has been read since. */
  hasYielded: boolean
}

// Later than this, a timer shows that the process stood still, or was busy: not that nothing has come.
const standstillMs = 20

const queues = new Map<number, TimerQueue>()

/**
 * Calls back once when its time has come, never early. Node counts a timeout from the loop's cached time and can fire
 * before it is due. A request sets several, and nearly all are cleared again, so timers of one duration share one timer
 * of Node's: setting and clearing are a few assignments. After a standstill Node fires what is due before it reads what
 * has arrived meanwhile; these timers let it be read first, since it was not late.
 */
export class CoalescedTimer {
  readonly #onDue: () => void
  #dueAt = 0
  #queue: TimerQueue | null = null
  #previous: CoalescedTimer | null = null
  #next: CoalescedTimer | null = null

  constructor(onDue: () => void) {
    this.#onDue = onDue
  }

  /** Starts the wait, or starts it over; null waits for ever. */
  set(ms: number | null): void {
    if (ms === null) return this.clear()
    // A queue of the same duration keeps its timer: this is the most frequent call.
    if (this.#queue?.ms === ms) this.#unlink(this.#queue)
    else this.clear()
    this.#dueAt = now() + ms
    const queue = queues.get(ms) ?? openQueue(ms)
    this.#queue = queue
    this.#previous = queue.last
    if (queue.last === null) queue.first = this
    else queue.last.#next = this
    queue.last = this
    // One that others precede waits behind their timer, which fireDue sets again when it has called back.
    if (this.#previous === null) queue.timer ??= setTimeout(CoalescedTimer.#fireDue, ms, queue)
  }

  /** Stops the wait, and leaves no timer behind. */
  clear(): void {
    const queue = this.#queue
    if (queue === null) return
    this.#unlink(queue)
    if (queue.first === null) closeQueue(queue)
  }

  #unlink(queue: TimerQueue): void {
    if (this.#previous === null) queue.first = this.#next
    else this.#previous.#next = this.#next
    if (this.#next === null) queue.last = this.#previous
    else this.#next.#previous = this.#previous
    this.#queue = null
    this.#previous = null
    this.#next = null
  }

  /** Calls back all that are due, and waits for the next. A callback that throws does not delay the others. */
  static #fireDue(queue: TimerQueue): void {
    if (!queue.hasYielded && queue.first !== null && now() - queue.first.#dueAt > standstillMs) {
      queue.hasYielded = true
      queue.timer = setTimeout(CoalescedTimer.#fireDue, 1, queue)
      return
    }
    queue.hasYielded = false
    queue.timer = null
    try {
      for (let timer = queue.first; timer !== null && timer.#dueAt <= now(); timer = queue.first) {
        timer.#unlink(queue)
        timer.#onDue()
      }
    } finally {
      if (queue.first === null) closeQueue(queue)
      else
        queue.timer ??= setTimeout(CoalescedTimer.#fireDue, Math.max(1, Math.ceil(queue.first.#dueAt - now())), queue)
    }
  }
}

const openQueue = (ms: number): TimerQueue => {
  const queue: TimerQueue = { ms, first: null, last: null, timer: null, hasYielded: false }
  queues.set(ms, queue)
  return queue
}

const closeQueue = (queue: TimerQueue): void => {
  if (queue.timer !== null) clearTimeout(queue.timer)
  queue.timer = null
  if (queues.get(queue.ms) === queue) queues.delete(queue.ms) // not one that was opened since
}

/**
 * Waits for a promise for at most `ms`; null: it was late. Results that arrived while this process was busy are read
 * first, and are not late. Rejects as the promise does.
 */
export const withTimeout = <T>(promise: Promise<T>, ms: number): Promise<T | null> =>
  new Promise((resolve, reject) => {
    const timer = new CoalescedTimer(() => setImmediate(resolve, null))
    timer.set(ms)
    promise.then(
      (value) => {
        timer.clear()
        resolve(value)
      },
      (error) => {
        timer.clear()
        reject(error)
      },
    )
  })

// Many endpoints, and many gateways, must not ask or be asked all at once.
const jitter = 0.1

/**
 * Calls `act` repeatedly: first after `firstMs`, 0: at once. `act` resolves to a function that completes the round and
 * returns the pause before the next in milliseconds, spread by ±10 %. Returns a function that stops the repetition; a
 * round that is under way then is not completed.
 */
export const repeatWithJitter = (
  act: () => Promise<() => number>,
  firstMs: number,
  random: () => number = Math.random,
): (() => void) => {
  let stopped = false
  const run = async (): Promise<void> => {
    const complete = await act()
    if (!stopped) timer.set(Math.round(complete() * (1 - jitter + 2 * jitter * random())))
  }
  const timer = new CoalescedTimer(() => void run())
  if (firstMs === 0) void run()
  else timer.set(firstMs)
  return () => {
    stopped = true
    timer.clear()
  }
}

let pendingWrites: (() => void)[] = []

/**
 * Writes at the end of this turn of the event loop, together with everything else that is written in it. A write to a
 * peer that sleeps wakes it, which costs more than the write does; for the next write it is still awake. With nothing
 * else to do the turn ends at once. Everything that has come in the turn has been read by then, which
 * `core/upstream/http1/connection.ts` counts on.
 */
export const batchWrite = (write: () => void): void => {
  if (pendingWrites.push(write) === 1) setImmediate(flush)
}

const flush = (): void => {
  const writes = pendingWrites
  pendingWrites = []
  for (const write of writes) {
    try {
      write()
    } catch (error) {
      // The others belong to other exchanges. The process handles the error as any other defect.
      setImmediate(() => {
        throw error
      })
    }
  }
}
