import { wallClock } from '../../clock.ts'
import { causeOf, FailedAttempt, type GatewayError } from '../../failures/errors.ts'
import { METHODS } from '../../node-http.ts'
import { sum } from '../added.ts'
import type { Exchanged, Recorder } from '../exchanged.ts'
import { Causes, mergeCauses } from './causes.ts'

/** What the gateway answered with an error of its own of late, as plain data. */
export type RefusalsReport = Refusals['report']

/**
 * One of them. Its `path` and `cause` are for reading, not for showing: what a client wrote is in the one, an upstream
 * in the other.
 */
export type Refusal = ReturnType<typeof refusalOf>

const kept = 100

/** Keeps the last requests that one process answered with an error of its own, and how often each cause came of late. */
export class Refusals implements Recorder {
  readonly name = 'refusals'
  // Apart, or whoever scans the internet would push out what operators look for.
  readonly #served = fairly()
  readonly #strange = fairly()
  readonly #causes = new Causes()
  #total = 0

  record(exchanged: Exchanged): void {
    const { failure, exchange } = exchanged
    if (failure === null || failure.kind === 'client-gone') return
    const refusal = refusalOf(wallClock(), exchanged, failure)
    const list = exchange === null ? this.#strange : this.#served
    list.add(refusal)
    this.#total++
    this.#causes.add(refusal.at, refusal)
  }

  get report() {
    return {
      /** Newest first: at most 100 of the nine, and 100 that were none of them, and of each reason some. */
      last: newestFirst([...this.#served.all, ...this.#strange.all]),
      /** How many there were since the start. */
      total: this.#total,
      causes: this.#causes.report(wallClock()),
    }
  }
}

/** Makes one report of what several processes have refused. */
export const mergeRefusals = (each: readonly RefusalsReport[]): RefusalsReport => {
  const served = fairly()
  const strange = fairly()
  const oldestFirst = newestFirst(each.flatMap(({ last }) => last)).toReversed()
  for (const refusal of oldestFirst) (refusal.operation === null ? strange : served).add(refusal)
  return {
    last: newestFirst([...served.all, ...strange.all]),
    total: sum(each.map(({ total }) => total)),
    causes: mergeCauses(each.flatMap(({ causes }) => causes)),
  }
}

/** Makes a list that keeps some of each reason. */
const fairly = (): FairList<Refusal> => new FairList(kept, ({ kind, reason }) => `${kind} ${reason}`)

const newestFirst = (refusals: readonly Refusal[]): readonly Refusal[] => refusals.toSorted((a, b) => b.at - a.at)

/**
 * Makes what is kept of a refusal: none of the objects that it came of. An error of Node's parser has the whole packet, one of a library may have
 * what it was thrown in, a trace has where its spans go; and what a client sent is not for keeping.
 */
const refusalOf = (at: number, exchanged: Exchanged, failure: GatewayError) => ({
  /** Milliseconds since the epoch. */
  at,
  requestId: exchanged.requestId,
  /** The client's address. */
  client: ownText(exchanged.client),
  /** Null: nobody asked, or nobody knows. */
  clientId: exchanged.exchange?.identity?.client ?? null,
  /** Null: no request could be parsed. */
  method: exchanged.method === null || known.has(exchanged.method) ? exchanged.method : 'another method',
  path: exchanged.path && ownText(exchanged.path),
  operation: exchanged.exchange?.operation.id ?? null,
  endpoint: exchanged.exchange?.attempt?.endpoint ?? null,
  status: exchanged.status,
  kind: failure.kind,
  /** A bounded word; null: the kind says it all. */
  reason: failure.reason,
  cause: ownCause(failure),
  /** The attempt because of which nothing was sent; null: something was, or it is not because of one. */
  because: failure.cause instanceof FailedAttempt ? failure.cause.report : null,
  traceId: exchanged.exchange?.trace ? ownText(exchanged.exchange.trace.traceId) : null,
})

const ownCause = (failure: GatewayError): string | null => {
  const cause = causeOf(failure)
  return cause === undefined ? null : ownText(cause.slice(0, 200))
}

/** Copies text: what was cut out of a field or a target keeps all of that in memory, which may be a megabyte. */
const ownText = (text: string): string => Buffer.from(text).toString()

const known: ReadonlySet<string> = new Set(METHODS)

/**
 * Keeps the last of what is added, so many and no more, and some of each key: what is full gives up the oldest of the key that it has most
 * of. A flood of one key then pushes out only itself. Keys are bounded words.
 */
class FairList<T> {
  readonly #max: number
  readonly #keyOf: (one: T) => string
  /** By key, the oldest first. */
  readonly #byKey = new Map<string, T[]>()
  #size = 0

  constructor(max: number, keyOf: (one: T) => string) {
    this.#max = max
    this.#keyOf = keyOf
  }

  add(one: T): void {
    const key = this.#keyOf(one)
    const same = this.#byKey.get(key)
    if (same === undefined) this.#byKey.set(key, [one])
    else same.push(one)
    if (this.#size < this.#max) this.#size++
    else this.#drop(key, same)
  }

  /** All that is kept, those of one key together. */
  get all(): readonly T[] {
    return [...this.#byKey.values()].flat()
  }

  #drop(added: string, same: T[] | undefined): void {
    // One that has its share already gives up its own, so a flood looks no further.
    const hasShare = same !== undefined && same.length * this.#byKey.size > this.#max
    const key = hasShare ? added : this.#largest()
    const all = this.#byKey.get(key) ?? []
    all.shift()
    if (all.length === 0) this.#byKey.delete(key)
  }

  #largest(): string {
    let found = ''
    let most = 0
    for (const [key, { length }] of this.#byKey) if (length > most) [found, most] = [key, length]
    return found
  }
}
