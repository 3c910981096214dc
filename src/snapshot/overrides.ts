import type { Group, OperationId } from '../catalog.ts'
import { Alarm, wallClock } from '../clock.ts'
import type { OperationConfig } from '../config/config.ts'
import type { TellOrder } from '../observe/audit/line.ts'
import type { Log } from '../observe/log.ts'

/** Says what an operator has said of something for a while, whatever the configuration says. */
export interface Override<State extends string = OperationConfig['state']> {
  readonly state: State
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Is what an operator can say of an endpoint. */
export type EndpointOrder = 'drain' | 'ready'

/** Names an endpoint behind a group. A URL holds no blank, so no two have the same key. */
export type EndpointKey = `${Group} ${string}`

/** Is what operators have said, to be looked up and listed. */
export interface Said {
  readonly operations: Pick<Orders<OperationId, OperationConfig['state']>, 'of' | 'all'>
  readonly endpoints: Pick<Orders<EndpointKey, EndpointOrder>, 'of' | 'all'>
}

// Far more than one group has: who reroutes while orders hold leaves some behind, until their time is over.
const maxEndpointOrders = 1000

/**
 * Keeps the operator's overrides, each with a time to live: what was done in an emergency does not stay for ever. They outlive a reload,
 * and end with the process.
 */
export class Overrides implements Said {
  /** Of operations, by id. */
  readonly operations: Orders<OperationId, OperationConfig['state']>
  /** Of endpoints, by {@link keyOf}: also of one that no configuration names at present. */
  readonly endpoints: Orders<EndpointKey, EndpointOrder>
  #last: Promise<unknown> = Promise.resolve()

  /** Each is told which one has ended of itself. */
  constructor(
    onOperation: (id: OperationId) => void = () => {},
    onEndpoint: (ended: ReturnType<typeof endpointOf>) => void = () => {},
  ) {
    this.operations = new Orders(onOperation)
    this.endpoints = new Orders((key) => onEndpoint(endpointOf(key)), maxEndpointOrders)
  }

  /** Has orders given one after the other: each begins with what came of the one before, which may take its time to be refused. */
  inTurn<T>(give: () => Promise<T>): Promise<T> {
    const given = this.#last.then(give)
    this.#last = given.catch(() => {})
    return given
  }

  /** Ends all of them, so that no timer is left. */
  clear(): void {
    this.operations.clear()
    this.endpoints.clear()
  }
}

type Listing<Key, State extends string> = readonly (readonly [Key, Override<State>])[]

/** Keeps orders that each hold for a time, at most one for a key. */
export class Orders<Key extends string, State extends string> {
  readonly #onExpiry: (key: Key) => void
  readonly #max: number
  readonly #held = new Map<Key, { readonly override: Override<State>; readonly alarm: Alarm }>()

  /** `onExpiry` is told which one has ended of itself. */
  constructor(onExpiry: (key: Key) => void, max = Number.POSITIVE_INFINITY) {
    this.#onExpiry = onExpiry
    this.#max = max
  }

  /** Finds what holds just now; null: what the configuration says. */
  of(key: Key): Override<State> | null {
    return this.#held.get(key)?.override ?? null
  }

  /** Lists what holds just now. */
  get all(): Listing<Key, State> {
    return [...this.#held].map(([key, { override }]) => [key, override])
  }

  /** Tells whether there is room for an order. */
  hasRoomFor(key: Key): boolean {
    return this.#held.has(key) || this.#held.size < this.#max
  }

  /** Gives an order, in place of what was said before. Throws when there is no room for it. */
  set(key: Key, state: State, ttlMs: number): Override<State> {
    if (!this.hasRoomFor(key)) throw new Error(`there are ${this.#max} orders already`)
    this.end(key)
    const alarm = new Alarm(() => {
      this.#held.delete(key)
      this.#onExpiry(key)
    })
    alarm.set(ttlMs)
    const override = { state, until: wallClock() + ttlMs }
    this.#held.set(key, { override, alarm })
    return override
  }

  /** Has again what held before an order that was refused: for the time that it has left, and if that is over, it ends as it would have. */
  takeBack(key: Key, before: Override<State> | null): void {
    this.end(key)
    if (before !== null) this.set(key, before.state, Math.max(1, before.until - wallClock()))
  }

  /** Ends an order early. */
  end(key: Key): void {
    this.#held.get(key)?.alarm.clear()
    this.#held.delete(key)
  }

  /** Ends all of them. */
  clear(): void {
    for (const key of [...this.#held.keys()]) this.end(key)
  }
}

/** Makes the key of an endpoint; `url` is how `/status` shows it. */
export const keyOf = (group: Group, url: string): EndpointKey => `${group} ${url}`

/** Tells whether an endpoint takes no new work: an operator's word goes before the file's. */
export const isDrained = (orders: Said['endpoints'], key: EndpointKey, byFile: boolean): boolean =>
  (orders.of(key)?.state ?? (byFile ? 'drain' : 'ready')) === 'drain'

/** Tells whose key it is, as the log names it. */
export const endpointOf = (key: EndpointKey): { readonly group: string; readonly endpoint: string } => {
  const [group = '', endpoint = ''] = key.split(' ', 2)
  return { group, endpoint }
}

// An order whose time is over is in effect no longer than it has to be.
const againMs = 1000

interface OrdersOptions {
  readonly log: Log
  readonly tell: TellOrder
  /** Puts into effect what holds by now. */
  reapply(): Promise<void>
  /** Tells whether nothing is put into effect any more. */
  isOver(): boolean
}

/** Keeps the orders of a gateway, and puts into effect that one has ended of itself. */
export const keepOrders = ({ log, tell, reapply, isOver }: OrdersOptions): Overrides => {
  const put = (done: () => void, failed: (error: unknown) => void): void => {
    reapply().then(done, (error) => {
      if (isOver()) return
      failed(error)
      // A worker that hangs has it refused. Nobody else asks for it: a file that says the same puts nothing into effect.
      setTimeout(() => put(done, failed), againMs).unref()
    })
  }
  return new Overrides(
    (operation) =>
      put(
        () => {
          log.info({ operation }, 'override ended')
          tell('override ended', { operation })
        },
        (err) => log.error({ operation, err }, 'an override could not be ended'),
      ),
    (order) =>
      put(
        () => {
          log.info(order, 'endpoint order ended')
          tell('endpoint order ended', order)
        },
        (err) => log.error({ ...order, err }, 'an endpoint order could not be ended'),
      ),
  )
}
