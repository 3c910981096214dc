import { epochMs, now, sleep } from '../../../core/lib/clock.ts'
import type { LogEvent } from '../../../core/log/log.ts'
import type { ManagedRedis } from '../../redis/managed-redis.ts'
import type { ScriptArgs, ScriptOptions } from '../../redis/redis-server.ts'
import * as scripts from './idempotency-scripts.ts'
import type {
  CallOf,
  Claim,
  ClaimResult,
  IdempotencyCall,
  IdempotencyReplies,
  IdempotencyStore,
  KeyDigest,
  RecordSummary,
} from './idempotency-store.ts'
import type { ResponseSealer } from './response-sealer.ts'

type Link = Pick<ManagedRedis, 'run' | 'isShared' | 'failure'>

interface RedisStoreOptions {
  readonly link: Link
  /** The connection on which replicas confirm each claim (docs/design/decisions/063). Null: none must. */
  readonly replicated?: Link | null
  readonly prefix: string
  readonly sealer: ResponseSealer
  /** Keys rejected because their client has too many. */
  readonly counts: { rejected: number }
  readonly logEvent: LogEvent
}

// Few claims are in flight when Redis fails.
const maxUnreplied = 1000

const giveBackMs = 250

const logPauseMs = 60_000

/** Transitions are scripts on keys of one slot; responses are encrypted (decision 063). */
export class RedisIdempotencyStore implements IdempotencyStore {
  readonly #options: RedisStoreOptions
  /** By token: until when a claim, certain or possible, may be renewed or settled. */
  readonly #heldUntil = new Map<string, number>()
  #failing: Link
  #unreplied = 0
  #loggedAt: number | null = null

  constructor(options: RedisStoreOptions) {
    this.#options = options
    this.#failing = options.link
  }

  get failure(): string | null {
    return this.#failing.failure
  }

  call<Type extends IdempotencyCall['type']>(call: CallOf<Type>): Promise<IdempotencyReplies[Type] | null> {
    return this[call.type](call as never) as Promise<IdempotencyReplies[Type] | null>
  }

  /** Every claim, certain or possible, is settled or given back. */
  isIdle(): boolean {
    const at = now()
    for (const [token, until] of this.#heldUntil) if (until <= at) this.#heldUntil.delete(token)
    return this.#heldUntil.size === 0
  }

  async claim({ claim }: CallOf<'claim'>): Promise<ClaimResult | null> {
    const { link, replicated = null } = this.#options
    const { token, fingerprint, requestId, ttlMs, leaseMs, takesOver, maxKeys } = claim
    const wasAsked = link.isShared
    const mayClaim = replicated === null || replicated.isShared
    const flags = [takesOver ? '1' : '0', `${maxKeys}`, mayClaim ? '1' : '0']
    const args = [token, fingerprint ?? '', requestId, `${ttlMs}`, `${leaseMs}`, ...flags]
    this.#hold(claim)
    const reply = await link.run(scripts.claimKeyScript, { keys: this.#keys(claim), args })
    let result = this.#parseClaimReply(claim.name, reply)
    let isToGiveBack = reply === null && wasAsked
    if (result === null) this.#failing = reply === null || replicated === null ? link : replicated
    // Only a lost claim lets a request be processed twice: after any other loss the key is unknown. The renewal runs on
    // the connection that waits: a master that lost the claim rejects it, and WAIT covers writes of its own connection
    // only.
    if (
      result?.state === 'claimed' &&
      replicated !== null &&
      toBoolean(await this.#runRenewal(claim, replicated, { isReplicated: true })) !== true
    ) {
      this.#failing = replicated
      result = null
      isToGiveBack = true
    }
    if (result?.state === 'claimed') this.#hold(claim)
    else if (isToGiveBack) void this.#giveBack(claim)
    else this.#heldUntil.delete(token)
    if (result?.state === 'full') this.#options.counts.rejected++
    return result
  }

  #parseClaimReply(name: string, reply: unknown): ClaimResult | null {
    if (!Array.isArray(reply)) return null
    const state = toText(reply[0])
    if (reply.length === 1) {
      if (state === 'c') return { state: 'claimed' }
      return state === 'f' ? { state: 'full', of: 'client' } : null
    }
    const [requestId, digest, token] = [toText(reply[1]), toText(reply[2]), toText(reply[3])]
    if (requestId === null || digest === null || token === null) return null
    const first = { requestId, fingerprint: digest === '' ? null : digest }
    const sealed: unknown = reply[4]
    const known = states.get(state ?? '')
    if (known === undefined) return null
    if (known !== 'done') return { state: known, ...first }
    if (sealed === null) return { state: 'done', ...first, response: null }
    if (!Buffer.isBuffer(sealed)) return null
    const response = this.#open(sealed, contextOf(name, token, first.fingerprint))
    return response === null ? { state: 'unknown', ...first } : { state: 'done', ...first, response }
  }

  async settle({ claim, settlement }: Omit<CallOf<'settle'>, 'type'>): Promise<boolean | null> {
    const { name, token, ttlMs } = claim
    const { link, sealer } = this.#options
    const fingerprint = settlement.state === 'free' ? null : settlement.fingerprint
    const response = settlement.state === 'done' ? settlement.response : null
    const sealed = response === null ? '' : sealer.seal(response, contextOf(name, token, fingerprint))
    const args = [token, settledStates[settlement.state], fingerprint ?? '', `${ttlMs}`, sealed]
    const isSettled = toBoolean(await link.run(scripts.settleKeyScript, { keys: this.#keys(claim), args }))
    if (isSettled !== null) this.#heldUntil.delete(token)
    return isSettled
  }

  async renew({ claim }: CallOf<'renew'>): Promise<boolean | null> {
    this.#hold(claim)
    return toBoolean(await this.#runRenewal(claim, this.#options.link))
  }

  #runRenewal(claim: Claim, link: Link, options?: ScriptOptions): Promise<unknown> {
    const args = [claim.token, `${claim.ttlMs}`, `${claim.leaseMs}`]
    return link.run(scripts.renewKeyScript, { keys: [this.#recordKey(claim)], args }, options)
  }

  #hold({ token, leaseMs }: Claim): void {
    this.#heldUntil.set(token, now() + leaseMs)
  }

  async find({ key }: CallOf<'find'>): Promise<RecordSummary | false | null> {
    const reply = await this.#options.link.run(scripts.findKeyScript, { keys: [this.#recordKey(key)], args: [] })
    if (!Array.isArray(reply)) return null
    if (reply.length === 0) return false
    const [state, requestId, claimedAt] = [toText(reply[0]), toText(reply[1]), Number(toText(reply[2]))]
    const [leftMs, token, digest] = [Number(reply[3]), toText(reply[4]), toText(reply[5])]
    const sealed: unknown = reply[6]
    const shown = states.get(state ?? '')
    if (shown === undefined || requestId === null || !(claimedAt > 0 && leftMs >= 0)) return null
    const record = { requestId, claimedAt, expiresAt: Math.round(epochMs() + leftMs) }
    if (shown !== 'done' || !Buffer.isBuffer(sealed)) return { state: shown, ...record, responseBytes: null }
    const response = this.#open(sealed, contextOf(key.name, token ?? '', digest === '' ? null : digest))
    return { state: response === null ? 'unreadable' : 'done', ...record, responseBytes: sealed.length }
  }

  async forget({ key }: CallOf<'forget'>): Promise<IdempotencyReplies['forget'] | null> {
    const reply = await this.#options.link.run(scripts.forgetKeyScript, { keys: [this.#recordKey(key)], args: [] })
    return toText(reply) === 'p' ? 'in-progress' : toBoolean(reply)
  }

  /** Redis may have written the claim of a rejected request, whose repetition must not find it in progress. */
  async #giveBack(claim: Claim): Promise<void> {
    if (this.#unreplied < maxUnreplied) {
      this.#unreplied++
      this.#hold(claim)
      for (const until = now() + claim.leaseMs; now() < until; await sleep(giveBackMs))
        if ((await this.settle({ claim, settlement: { state: 'free' } })) !== null) break
      this.#unreplied--
    }
    this.#heldUntil.delete(claim.token)
  }

  /** Null: decryption failed, which is logged. */
  #open(sealed: Buffer, context: string): Buffer | null {
    const response = this.#options.sealer.open(sealed, context)
    const at = now()
    if (response !== null || (this.#loggedAt !== null && at - this.#loggedAt < logPauseMs)) return response
    this.#loggedAt = at
    this.#options.logEvent('warn', 'a remembered response cannot be decrypted', {})
    return null
  }

  // In a cluster, all keys of a client share a slot.
  #recordKey({ client, name }: KeyDigest): string {
    return `${this.#options.prefix}:idempotency:{${client}}:${name}`
  }

  #keys(claim: Claim): ScriptArgs['keys'] {
    const { client, ttlMs } = claim
    return [this.#recordKey(claim), `${this.#options.prefix}:idempotency:{${client}}:keys:${ttlMs}`]
  }
}

const settledStates = { free: 'f', unknown: 'u', done: 'd' } as const

const states = new Map<string, 'in-progress' | 'unknown' | 'done'>([
  ['p', 'in-progress'],
  ['u', 'unknown'],
  ['d', 'done'],
])

/** Binds a response to its key, attempt and request. */
const contextOf = (name: string, token: string, fingerprint: string | null): string =>
  JSON.stringify([name, token, fingerprint])

const toText = (value: unknown): string | null => (Buffer.isBuffer(value) ? value.toString() : null)

const toBoolean = (reply: unknown): boolean | null => (reply === 1 ? true : reply === 0 ? false : null)
