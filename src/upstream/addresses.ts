import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Alarm } from '../clock.ts'
import { jittered } from './jitter.ts'
import { resolveName } from './names.ts'
import { reasonOf } from './why.ts'

/** Finds the addresses of a name. Rejects with the system's error. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

/** Hears what a name resolves to. */
export interface Listener {
  /** Is told the first time, when the set is another one, and when it resolves again. */
  changed(addresses: readonly LookupAddress[]): void
  /** Is told when it does not resolve, once for each reason until it does. */
  failed(reason: string): void
}

const firstRetryMs = 1000

/** Resolves a name now and again and again: every `intervalMs` (±10 %), after a failure after 1 s, then twice as long each time up to that. */
export class Addresses {
  readonly #hostname: string
  readonly #intervalMs: number
  readonly #on: Listener
  readonly #resolve: Resolve
  readonly #alarm = new Alarm(() => void this.#ask())
  #known = ''
  #reason: string | null = null
  #retryMs = firstRetryMs
  #closed = false

  constructor(hostname: string, intervalMs: number, on: Listener, resolve: Resolve = resolveName) {
    this.#hostname = hostname
    this.#intervalMs = intervalMs
    this.#on = on
    this.#resolve = resolve
    void this.#ask()
  }

  /** Asks no more, and tells nothing more. */
  close(): void {
    this.#closed = true
    this.#alarm.clear()
  }

  async #ask(): Promise<void> {
    const waitMs = await this.#resolve(this.#hostname).then(
      (addresses) => (addresses.length === 0 ? this.#fail('it has no address') : this.#take(addresses)),
      (error: unknown) => this.#fail(reasonOf(error)),
    )
    if (!this.#closed) this.#alarm.set(jittered(waitMs))
  }

  #take(addresses: readonly LookupAddress[]): number {
    const again = this.#reason !== null
    this.#reason = null
    this.#retryMs = firstRetryMs
    const distinct = [...new Map(addresses.map((each) => [each.address, each])).values()]
    const known = distinct
      .map(({ address }) => address)
      .sort()
      .join()
    if (!this.#closed && (again || known !== this.#known)) {
      this.#known = known
      this.#on.changed(distinct)
    }
    return this.#intervalMs
  }

  #fail(reason: string): number {
    if (!this.#closed && reason !== this.#reason) {
      this.#reason = reason
      this.#on.failed(reason)
    }
    const waitMs = Math.min(this.#retryMs, this.#intervalMs)
    this.#retryMs = waitMs * 2
    return waitMs
  }
}

/** Makes a lookup that knows the answer: one address first, the others for when it is not there (RFC 8305). */
export const preferring =
  (first: LookupAddress, all: readonly LookupAddress[]): LookupFunction =>
  (_, options, callback) => {
    if (options.all !== true) return callback(null, first.address, first.family)
    callback(null, [first, ...all.filter(({ address }) => address !== first.address)])
  }
