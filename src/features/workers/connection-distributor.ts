import type { Socket } from 'node:net'
import { CoalescedTimer } from '../../core/lib/clock.ts'

export interface ConnectionReceiver {
  /** False: the receiver is about to end, and the caller keeps the connection. */
  handOff(socket: Socket): boolean
  onTimeout(): void
}

interface ReceiverQueue {
  readonly receiver: ConnectionReceiver
  readonly queue: Socket[]
  readonly ackTimer: CoalescedTimer
  awaitsAck: boolean
  /** No more connections are handed over until the acknowledgment. */
  isStuck: boolean
}

// Connections that wait for one receiver while others have room: a burst goes round evenly, whoever acknowledges first.
const maxQueued = 64

/**
 * Distributes connections in turn. A receiver that acknowledges late is passed over until it does, and its queue goes
 * to the others: a hung worker costs only the one connection that it was handed.
 */
export class ConnectionDistributor {
  readonly #ackTimeoutMs: number
  readonly #isGone: (socket: Socket) => boolean
  readonly #queues = new Map<ConnectionReceiver, ReceiverQueue>()
  readonly #backlog: Socket[] = []
  #next = 0

  /** `isGone`: the client has reset the connection, so no receiver gets it. */
  constructor(ackTimeoutMs = 1000, isGone: (socket: Socket) => boolean = () => false) {
    this.#ackTimeoutMs = ackTimeoutMs
    this.#isGone = isGone
  }

  get hasReceiver(): boolean {
    return [...this.#queues.values()].some(({ isStuck }) => !isStuck)
  }

  /** Whether every connection has been handed over, except to stuck receivers. */
  get isIdle(): boolean {
    return this.#backlog.length === 0 && [...this.#queues.values()].every(({ queue }) => queue.length === 0)
  }

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

  remove(receiver: ConnectionReceiver): void {
    const target = this.#queues.get(receiver)
    if (target === undefined) return
    target.ackTimer.clear()
    this.#queues.delete(receiver)
    this.#redistribute(target)
  }

  distribute(socket: Socket): void {
    const target = this.#pickNext()
    if (target === null) return void this.#backlog.push(socket)
    target.queue.push(socket)
    this.#handOff(target)
  }

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
    if (!target.receiver.handOff(socket)) target.queue.unshift(socket) // until `remove` is called
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
