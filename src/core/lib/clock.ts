/** The only reader of time: tests replace it with fake timers. */

/** Monotonic milliseconds, for durations. */
export const now = (): number => performance.now()

/** For records, and times from elsewhere: operators and NTP set this clock forward and back. */
export const epochMs = (): number => Date.now()

export const toEpochMs = (at: number): number => Math.round(epochMs() + at - now())

const startedAt = Number(process.hrtime.bigint()) / 1e6 - now()

/** Monotonic milliseconds, the same in all processes of a machine. */
export const systemMs = (): number => startedAt + now()

export const systemToEpochMs = (at: number): number => toEpochMs(at - startedAt)

/** CLOCK_MONOTONIC, which other processes can read too. */
export const monotonicMicroseconds = (): bigint => process.hrtime.bigint() / 1000n

/** Resolves to whether a promise settles in time. Rejects as the promise does. */
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

const waitStepMs = 50

/** As `settlesWithin`, but a standstill of the process counts as 50 ms: a response could not be read meanwhile. */
export const settlesWithinWait = async (ms: number, promise: Promise<unknown>): Promise<boolean> => {
  for (let left = ms; left > 0; left -= waitStepMs)
    if (await settlesWithin(Math.min(waitStepMs, left), promise)) return true
  return false
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** At once where the time has passed. The timer keeps no process alive. */
export const unrefTimeout = (ms: number, call: () => void): (() => void) => {
  const timer = setTimeout(call, Math.max(0, ms)) // Node warns on stderr of a negative timeout
  timer.unref()
  return () => clearTimeout(timer)
}

/** Soonest first: a timer that is set later is due later, so the list sorts itself. */
interface TimerQueue {
  readonly ms: number
  first: CoalescedTimer | null
  last: CoalescedTimer | null
  timer: NodeJS.Timeout | null
  /** Whether input that arrived during a standstill has been read since. */
  hasYielded: boolean
}

// A later timer shows a standstill or a busy process, not that no input came.
const standstillMs = 20

const queues = new Map<number, TimerQueue>()

/**
 * Calls back once, never early (Node counts from the loop's cached time). A request sets several timers and clears
 * nearly all, so timers of one duration share one of Node's. After a standstill, input that arrived meanwhile is read
 * first, since it was not late; Node would fire its timers first.
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
    const queue = queues.get(ms) ?? openQueue(ms)
    // The most frequent call: the queue keeps its timer.
    if (this.#queue === queue) this.#unlink(queue)
    else this.clear()
    this.#dueAt = now() + ms
    this.#queue = queue
    this.#previous = queue.last
    if (queue.last === null) queue.first = this
    else queue.last.#next = this
    queue.last = this
    // A timer behind others waits for theirs: fireDue sets it again after calling back.
    if (this.#previous === null) queue.timer ??= setTimeout(CoalescedTimer.#fireDue, ms, queue)
  }

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

  /** A callback that throws does not delay the others. */
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
  if (queues.get(queue.ms) === queue) queues.delete(queue.ms) // not a queue opened since
}

/** Null: late. A result that came while this process was busy is not late. */
export const withTimeout = <T>(promise: Promise<T>, ms: number): Promise<T | null> =>
  new Promise((resolve, reject) => {
    const timer = new CoalescedTimer(() => setImmediate(resolve, null))
    timer.set(ms)
    // `finally` costs each command of Redis two more promises and its reply three more microtasks.
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

// Spreads the requests of many endpoints and gateways.
const jitter = 0.1

/**
 * `act` resolves to a function that completes the round and returns the pause in ms, spread by ±10 %. Returns a
 * function that stops the repetition; a running round is not completed.
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

/** For tests that fake timers: a queue whose timer is gone would never call back. */
export const forgetTimers = (): void => queues.clear()
