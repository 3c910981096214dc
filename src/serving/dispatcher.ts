import type { Socket } from 'node:net'
import { Alarm } from '../clock.ts'

/** Is who takes connections: one at a time, and says so. */
export interface Taker {
  /** Hands it over; false: the taker is just going, and nothing was done. */
  hand(socket: Socket): boolean
  /** Is told that it has not taken it in time. */
  doubt(): void
}

interface Place {
  readonly taker: Taker
  /** Dealt to it, and waiting for its turn. */
  readonly queue: Socket[]
  readonly patience: Alarm
  /** Whether it was handed one, and has not said that it has taken it. */
  handed: boolean
  /** Whether it has not for so long that it is given no more. */
  stuck: boolean
}

// So many wait for one taker while others have room: a burst goes round evenly, however soon each answers.
const maxQueued = 64

/**
 * Deals connections out in turn. Who does not take one soon is passed over until he does, and what waits for him goes to the others: a
 * worker that hangs costs the one connection that it was handed.
 */
export class Dispatcher {
  readonly #patienceMs: number
  readonly #hasGone: (socket: Socket) => boolean
  readonly #places = new Map<Taker, Place>()
  /** Nobody has room for these just now. */
  readonly #waiting: Socket[] = []
  #next = 0

  /** `hasGone` tells that the client is not there any more: nobody is handed that. */
  constructor(patienceMs = 1000, hasGone: (socket: Socket) => boolean = () => false) {
    this.#patienceMs = patienceMs
    this.#hasGone = hasGone
  }

  /** Tells whether somebody takes connections. */
  get isServed(): boolean {
    return [...this.#places.values()].some(({ stuck }) => !stuck)
  }

  /** Tells whether every connection has been handed over, but to those who are stuck. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && [...this.#places.values()].every(({ queue }) => queue.length === 0)
  }

  /** Deals to one more. */
  add(taker: Taker): void {
    const patience = new Alarm(() => {
      place.stuck = true
      taker.doubt()
      this.#dealAgain(place)
    })
    const place: Place = { taker, queue: [], patience, handed: false, stuck: false }
    this.#places.set(taker, place)
    this.#dealWaiting()
  }

  /** Deals to one no longer; what waited for it goes to the others. */
  remove(taker: Taker): void {
    const place = this.#places.get(taker)
    if (place === undefined) return
    place.patience.clear()
    this.#places.delete(taker)
    this.#dealAgain(place)
  }

  /** Deals out a connection. */
  deal(socket: Socket): void {
    const place = this.#inTurn()
    if (place === null) return void this.#waiting.push(socket)
    place.queue.push(socket)
    this.#hand(place)
  }

  /** Hears that a taker has taken what it was handed. */
  taken(taker: Taker): void {
    const place = this.#places.get(taker)
    if (place === undefined) return
    place.patience.clear()
    place.handed = false
    place.stuck = false
    this.#hand(place)
    this.#dealWaiting()
  }

  #inTurn(): Place | null {
    const places = [...this.#places.values()]
    for (let n = 0; n < places.length; n++) {
      const place = places[(this.#next + n) % places.length] as Place
      if (place.stuck || place.queue.length >= maxQueued) continue
      this.#next = (this.#next + n + 1) % places.length
      return place
    }
    return null
  }

  #hand(place: Place): void {
    if (place.handed) return
    let socket = place.queue.shift()
    while (socket !== undefined && this.#hasGone(socket)) {
      socket.destroy()
      socket = place.queue.shift()
    }
    if (socket === undefined) return
    place.handed = true
    place.patience.set(this.#patienceMs)
    if (!place.taker.hand(socket)) place.queue.unshift(socket) // until it is removed
  }

  #dealAgain({ queue }: Place): void {
    for (const socket of queue.splice(0)) this.deal(socket)
  }

  #dealWaiting(): void {
    while (this.#waiting.length > 0) {
      const place = this.#inTurn()
      if (place === null) return
      place.queue.push(this.#waiting.shift() as Socket)
      this.#hand(place)
    }
  }
}
