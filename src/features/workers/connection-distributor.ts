import type { Socket } from 'node:net'
import { CoalescedTimer } from '../../core/lib/clock.ts'

export interface ConnectionReceiver {
  handOff(socket: Socket): boolean
  onTimeout(): void
}

interface ReceiverQueue {
  readonly receiver: ConnectionReceiver
  readonly queue: Socket[]
  readonly ackTimer: CoalescedTimer
  awaitsAck: boolean
  /** Until the acknowledgment, the receiver gets no more connections. */
  isStuck: boolean
}

// A bound, so that a burst goes to all receivers, even if one of them acknowledges faster.
const maxQueued = 64

/**
 * Hands connections to receivers in turn. A receiver that acknowledges late is skipped until it does, and its queue
 * goes to the others: a hung worker costs one connection. `isGone`: the client has reset the connection.
 */
export const createConnectionDistributor = (ackTimeoutMs = 1000, isGone: (socket: Socket) => boolean = () => false) => {
  const queues = new Map<ConnectionReceiver, ReceiverQueue>()
  const backlog: Socket[] = []
  let next = 0

  const pickNext = (): ReceiverQueue | null => {
    const targets = [...queues.values()]
    for (let n = 0; n < targets.length; n++) {
      const target = targets[(next + n) % targets.length] as ReceiverQueue
      if (target.isStuck || target.queue.length >= maxQueued) continue
      next = (next + n + 1) % targets.length
      return target
    }
    return null
  }
  const handOff = (target: ReceiverQueue): void => {
    if (target.awaitsAck) return
    let socket = target.queue.shift()
    while (socket !== undefined && isGone(socket)) {
      socket.destroy()
      socket = target.queue.shift()
    }
    if (socket === undefined) return
    target.awaitsAck = true
    target.ackTimer.set(ackTimeoutMs)
    if (!target.receiver.handOff(socket)) target.queue.unshift(socket)
  }
  const distribute = (socket: Socket): void => {
    const target = pickNext()
    if (target === null) return void backlog.push(socket)
    target.queue.push(socket)
    handOff(target)
  }
  const redistribute = ({ queue }: ReceiverQueue): void => {
    for (const socket of queue.splice(0)) distribute(socket)
  }
  const distributeBacklog = (): void => {
    while (backlog.length > 0) {
      const target = pickNext()
      if (target === null) return
      target.queue.push(backlog.shift() as Socket)
      handOff(target)
    }
  }
  return {
    distribute,
    hasReceiver: () => [...queues.values()].some(({ isStuck }) => !isStuck),
    isIdle: () => backlog.length === 0 && [...queues.values()].every(({ queue }) => queue.length === 0),
    add(receiver: ConnectionReceiver): void {
      const ackTimer = new CoalescedTimer(() => {
        target.isStuck = true
        receiver.onTimeout()
        redistribute(target)
      })
      const target: ReceiverQueue = { receiver, queue: [], ackTimer, awaitsAck: false, isStuck: false }
      queues.set(receiver, target)
      distributeBacklog()
    },
    remove(receiver: ConnectionReceiver): void {
      const target = queues.get(receiver)
      if (target === undefined) return
      target.ackTimer.clear()
      queues.delete(receiver)
      redistribute(target)
    },
    onAck(receiver: ConnectionReceiver): void {
      const target = queues.get(receiver)
      if (target === undefined) return
      target.ackTimer.clear()
      target.awaitsAck = false
      target.isStuck = false
      handOff(target)
      distributeBacklog()
    },
  }
}
