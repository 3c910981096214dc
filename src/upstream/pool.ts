import { type Dispatcher, errors } from 'undici'
import type { Connection, EndpointHandler } from './connection.ts'

/**
 * Keeps the connections to one address, and sends each request on the one that was used last: what is warm stays warm, and what is not
 * needed falls silent and is closed. How many there are is bounded by those who may send at once. It stands in for undici's own pool, which
 * looks through all that are busy for one that is free, and keeps a queue and counts that nobody reads here.
 */
export class Pool {
  readonly #open: () => Connection
  /** Those that still finish something included. */
  readonly #all = new Set<Connection>()
  /** Those that carry nothing, the one that was used last at the end. */
  readonly #free: Connection[] = []
  #closed: Promise<void> | null = null

  constructor(open: () => Connection) {
    this.#open = open
  }

  /** Sends a request. */
  dispatch(options: Dispatcher.DispatchOptions, handler: EndpointHandler): void {
    if (this.#closed !== null) return handler.onResponseError(null, new errors.ClientClosedError())
    this.#take().dispatch(options, handler)
  }

  /** Finishes what runs, then closes every connection. Resolves as well when it has been cut in the meantime. */
  close(): Promise<void> {
    this.#closed ??= this.#each((connection) => (connection.destroyed ? undefined : connection.close()))
    return this.#closed
  }

  /** Cuts every connection. */
  async destroy(reason: Error): Promise<void> {
    this.#closed ??= Promise.resolve()
    await this.#each((connection) => connection.destroy(reason))
  }

  #take(): Connection {
    for (let last = this.#free.pop(); last !== undefined; last = this.#free.pop()) if (last.isReusable) return last
    const connection = this.#open()
    this.#all.add(connection)
    connection.onFree = () => this.#free.push(connection)
    const drop = (): void => this.#drop(connection)
    connection.on('disconnect', drop).on('connectionError', drop)
    return connection
  }

  /** Lets go of a connection that has ended, unless a request waits for it to be made anew. */
  #drop(connection: Connection): void {
    if (connection.busy) return
    this.#all.delete(connection)
    const at = this.#free.indexOf(connection)
    if (at >= 0) this.#free.splice(at, 1)
  }

  async #each(act: (connection: Connection) => Promise<void> | undefined): Promise<void> {
    await Promise.all([...this.#all].map(act))
  }
}
