/** A network between a client and a server: a TCP relay that delays what it carries and limits its rate. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Describes both directions of a link. Each connection has them to itself. */
export interface LinkOptions {
  /** Port on the loopback that connections are passed on to. */
  readonly to: number
  /** One-way delay, in milliseconds: a round trip takes twice that. */
  readonly delayMs: number
  /** Bytes a second in each direction. Default: unbounded. */
  readonly bytesPerSecond?: number
  /**
   * Bytes that may be on their way in one direction before the sender is held back. Default: what the rate moves in a
   * round trip, and 64 KiB; for an unbounded rate 4 MiB, to which Linux lets a send buffer grow. The kernel's buffers
   * at both ends come on top.
   */
  readonly windowBytes?: number
}

/** An open link. */
export interface SlowLink {
  readonly port: number
  /** Cuts every connection, and accepts no more. */
  close(): Promise<void>
}

/**
 * Opens a link on a free port of the loopback. Data, half-closes and resets are passed on, in the order in which they
 * came.
 */
export const slowLink = async (options: LinkOptions): Promise<SlowLink> => {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const target = connect({ port: options.to, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    for (const socket of [client, target]) {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    }
    carry(client, target, options)
    carry(target, client, options)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** What is on its way: a piece, the end of the stream, or the end of the connection. */
interface Freight {
  readonly what: Buffer | 'end' | 'reset'
  readonly dueAt: number
}

/** Carries one direction of a connection. */
const carry = (from: Socket, into: Socket, { delayMs, bytesPerSecond, windowBytes }: LinkOptions): void => {
  const bytesPerMs = (bytesPerSecond ?? Number.POSITIVE_INFINITY) / 1000
  const window = windowBytes ?? (bytesPerSecond === undefined ? 4 * 1024 * 1024 : 64 * 1024 + bytesPerMs * 2 * delayMs)
  const line = new Line(delayMs, bytesPerMs)
  const queue: Freight[] = []
  let bytesOnTheWay = 0
  let timer: NodeJS.Timeout | null = null

  const send = (what: Freight['what']): void => {
    if (into.destroyed) return
    const now = performance.now()
    if (typeof what === 'string') queue.push({ what, dueAt: line.dueAt(0, now) })
    else {
      bytesOnTheWay += what.length
      for (const piece of line.pieces(what)) queue.push({ what: piece, dueAt: line.dueAt(piece.length, now) })
      if (bytesOnTheWay >= window) from.pause()
    }
    wait()
  }
  const wait = (): void => {
    const [first] = queue
    // What the receiver does not take stays on the link, as behind a closed window of TCP.
    if (first === undefined || timer !== null || into.writableNeedDrain) return
    timer = setTimeout(deliver, Math.max(0, first.dueAt - performance.now()))
  }
  const deliver = (): void => {
    timer = null
    for (let [first] = queue; first !== undefined && first.dueAt <= performance.now(); [first] = queue) {
      queue.shift()
      hand(first.what)
      if (into.writableNeedDrain) break
    }
    wait()
  }
  const hand = (what: Freight['what']): void => {
    // While it is being shut down Node cannot reset it, and would leave it open for good.
    if (what === 'reset') into[into.writableEnded && !into.writableFinished ? 'destroy' : 'resetAndDestroy']()
    else if (what === 'end') into.end()
    else {
      into.write(what)
      bytesOnTheWay -= what.length
      if (bytesOnTheWay < window) from.resume()
    }
  }

  from.on('data', send)
  from.on('end', () => send('end'))
  from.on('error', () => send('reset'))
  into.on('drain', wait)
  into.on('close', () => {
    if (timer !== null) clearTimeout(timer)
    queue.length = 0
    from.pause() // nothing is taken any more; what became of it is on its way back
  })
}

/** The clock of one direction: returns when what is sent now has arrived. */
class Line {
  readonly #delayMs: number
  readonly #bytesPerMs: number
  #freeAt = 0

  constructor(delayMs: number, bytesPerMs: number) {
    this.#delayMs = delayMs
    this.#bytesPerMs = bytesPerMs
  }

  /** Cuts bytes into what the rate moves in 10 ms, and a packet at least, so that they arrive evenly. */
  pieces(bytes: Buffer): Buffer[] {
    const size = Math.max(1500, Math.floor(Math.min(bytes.length, this.#bytesPerMs * 10)))
    return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
  }

  /** Sends bytes at `now`, behind all that was sent before; returns when the last of them arrives. */
  dueAt(bytes: number, now: number): number {
    this.#freeAt = Math.max(this.#freeAt, now) + bytes / this.#bytesPerMs
    return this.#freeAt + this.#delayMs
  }
}
