/** The only reader of time. Tests replace it with fake timers. */

/** Tells monotonic time in milliseconds, for durations. */
export const now = (): number => performance.now()

/** Tells wall-clock time in milliseconds since the epoch, for records. */
export const epochMs = (): number => Date.now()

/** Waits for a promise, but no longer than `ms`; tells whether it was in time. Rejects as the promise does. */
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

/** Waits. */
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Calls back once, unless it is stopped first. It alone keeps no process alive: for work behind everybody's back. */
export const unrefTimeout = (ms: number, call: () => void): (() => void) => {
  const timer = setTimeout(call, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/** Is the alarms of one duration that are set, soonest first: what is set later is due later, so the list sorts itself. */
interface TimerQueue {
  readonly ms: number
  first: CoalescedTimer | null
  last: CoalescedTimer | null
  timer: NodeJS.Timeout | null
}

const queues = new Map<number, TimerQueue>()

/**
 * Calls back once when its time has come, never early: Node counts a timeout from the loop's cached time and can fire before it is
 * due. A request sets several, and nearly all are cleared again, so alarms of one duration share one timer of Node's: setting and
 * clearing are a few assignments.
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
    // Of the same duration the timer is kept: it is what is set again most.
    if (this.#queue?.ms === ms) this.#unlink(this.#queue)
    else this.clear()
    this.#dueAt = now() + ms
    const queue = queues.get(ms) ?? openQueue(ms)
    this.#queue = queue
    this.#previous = queue.last
    if (queue.last === null) queue.first = this
    else queue.last.#next = this
    queue.last = this
    queue.timer ??= setTimeout(CoalescedTimer.#fireDue, ms, queue)
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

  /** Calls back all that are due, and waits for the next; one that throws does not keep the others from their turn. */
  static #fireDue(queue: TimerQueue): void {
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
  const queue: TimerQueue = { ms, first: null, last: null, timer: null }
  queues.set(ms, queue)
  return queue
}

const closeQueue = (queue: TimerQueue): void => {
  if (queue.timer !== null) clearTimeout(queue.timer)
  queue.timer = null
  if (queues.get(queue.ms) === queue) queues.delete(queue.ms) // not one that was opened since
}

/** Waits for an outcome; null: it was late. What has come while this process was busy is read first, and is not late. Rejects as it does. */
export const withTimeout = <T>(promise: Promise<T>, ms: number): Promise<T | null> =>
  new Promise((resolve, reject) => {
    const timer = new CoalescedTimer(() => setImmediate(resolve, null))
    timer.set(ms)
    promise.then(
      (got) => {
        timer.clear()
        resolve(got)
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
 * Acts again and again: first after `firstDelayMs`, 0: at once. `act` resolves to what concludes it, which tells the pause
 * before the next in milliseconds, spread by ±10 %. Returns what stops it; an act that is under way then is not
 * concluded.
 */
export const repeatWithJitter = (
  act: () => Promise<() => number>,
  firstMs: number,
  random: () => number = Math.random,
): (() => void) => {
  let isStopped = false
  const run = async (): Promise<void> => {
    const conclude = await act()
    if (!isStopped) timer.set(Math.round(conclude() * (1 - jitter + 2 * jitter * random())))
  }
  const timer = new CoalescedTimer(() => void run())
  if (firstMs === 0) void run()
  else timer.set(firstMs)
  return () => {
    isStopped = true
    timer.clear()
  }
}
