import type { Socket } from 'node:net'
import { CoalescedTimer } from '../../clock.ts'

/** Is who takes connections: one at a time, and says so. */
export interface ConnectionReceiver {
  /** Hands it over; false: the taker is just going, and nothing was done. */
  handOff(socket: Socket): boolean
  /** Is told that it has not taken it in time. */
  onTimeout(): void
}

interface ReceiverQueue {
  readonly receiver: ConnectionReceiver
  /** Dealt to it, and waiting for its turn. */
  readonly queue: Socket[]
  readonly ackTimer: CoalescedTimer
  /** Whether it was handed one, and has not said that it has taken it. */
  awaitsAck: boolean
  /** Whether it has not for so long that it is given no more. */
  isStuck: boolean
}

// So many wait for one taker while others have room: a burst goes round evenly, however soon each answers.
const maxQueued = 64

/**
 * Deals connections out in turn. Who does not take one soon is passed over until he does, and what waits for him goes to the others: a
 * worker that hangs costs the one connection that it was handed.
 */
export class ConnectionDistributor {
  readonly #ackTimeoutMs: number
  readonly #isGone: (socket: Socket) => boolean
  readonly #queues = new Map<ConnectionReceiver, ReceiverQueue>()
  /** Nobody has room for these just now. */
  readonly #backlog: Socket[] = []
  #next = 0

  /** `isGone` tells that the client is not there any more: nobody is handed that. */
  constructor(ackTimeoutMs = 1000, isGone: (socket: Socket) => boolean = () => false) {
    this.#ackTimeoutMs = ackTimeoutMs
    this.#isGone = isGone
  }

  /** Tells whether somebody takes connections. */
  get hasReceiver(): boolean {
    return [...this.#queues.values()].some(({ isStuck }) => !isStuck)
  }

  /** Tells whether every connection has been handed over, but to those who are stuck. */
  get isIdle(): boolean {
    return this.#backlog.length === 0 && [...this.#queues.values()].every(({ queue }) => queue.length === 0)
  }

  /** Deals to one more. */
  add(receiver: ConnectionReceiver): void {
    const ackTimer = new CoalescedTimer(() => {
      target.isStuck = true
      receiver.onTimeout()
      this.#redistribute(target)
    })
    const target: ReceiverQueue = { receiver, queue: [], ackTimer, awaitsAck: false, isStuck: false }
    this.#queues.set(receiver, target)
    this.#distributeBacklog()
  }

  /** Deals to one no longer; what waited for it goes to the others. */
  remove(receiver: ConnectionReceiver): void {
    const target = this.#queues.get(receiver)
    if (target === undefined) return
    target.ackTimer.clear()
    this.#queues.delete(receiver)
    this.#redistribute(target)
  }

  /** Deals out a connection. */
  distribute(socket: Socket): void {
    const target = this.#pickNext()
    if (target === null) return void this.#backlog.push(socket)
    target.queue.push(socket)
    this.#handOff(target)
  }

  /** Hears that a taker has taken what it was handed. */
  onAck(receiver: ConnectionReceiver): void {
    const target = this.#queues.get(receiver)
    if (target === undefined) return
    target.ackTimer.clear()
    target.awaitsAck = false
    target.isStuck = false
    this.#handOff(target)
    this.#distributeBacklog()
  }

  #pickNext(): ReceiverQueue | null {
    const targets = [...this.#queues.values()]
    for (let n = 0; n < targets.length; n++) {
      const target = targets[(this.#next + n) % targets.length] as ReceiverQueue
      if (target.isStuck || target.queue.length >= maxQueued) continue
      this.#next = (this.#next + n + 1) % targets.length
      return target
    }
    return null
  }

  #handOff(target: ReceiverQueue): void {
    if (target.awaitsAck) return
    let socket = target.queue.shift()
    while (socket !== undefined && this.#isGone(socket)) {
      socket.destroy()
      socket = target.queue.shift()
    }
    if (socket === undefined) return
    target.awaitsAck = true
    target.ackTimer.set(this.#ackTimeoutMs)
    if (!target.receiver.handOff(socket)) target.queue.unshift(socket) // until it is removed
  }

  #redistribute({ queue }: ReceiverQueue): void {
    for (const socket of queue.splice(0)) this.distribute(socket)
  }

  #distributeBacklog(): void {
    while (this.#backlog.length > 0) {
      const target = this.#pickNext()
      if (target === null) return
      target.queue.push(this.#backlog.shift() as Socket)
      this.#handOff(target)
    }
  }
}
