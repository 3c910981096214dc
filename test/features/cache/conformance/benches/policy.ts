import * as serving from '../../../../../src/features/cache/cache-response.ts'
import * as invalidating from '../../../../../src/features/cache/invalidation.ts'
import type { CacheRules } from '../../../../../src/features/cache/policy/cache-request.ts'
import * as request from '../../../../../src/features/cache/policy/cache-request.ts'
import * as validators from '../../../../../src/features/cache/policy/fields.ts'
import * as cacheStatus from '../../../../../src/features/cache/policy/reuse.ts'
import * as reuse from '../../../../../src/features/cache/policy/reuse.ts'
import * as statuses from '../../../../../src/features/cache/policy/status-codes.ts'
import * as validating from '../../../../../src/features/cache/policy/storability.ts'
import * as storing from '../../../../../src/features/cache/policy/storability.ts'
import * as stored from '../../../../../src/features/cache/policy/stored-head.ts'
import * as selecting from '../../../../../src/features/cache/policy/stored-head.ts'
import type { Clock, Origin, OriginResponse } from '../origin.ts'
import type { Bench, ClientRequest, ClientResponse, Session } from '../play.ts'
import { toCacheRules } from './rules.ts'

/** The pure policy: all that decides, without what fetches or stores. */
export const policy = {
  ...cacheStatus,
  ...invalidating,
  ...request,
  ...reuse,
  ...selecting,
  ...serving,
  ...statuses,
  ...stored,
  ...storing,
  ...validating,
  ...validators,
}

type Policy = typeof policy
type CacheRequest = request.CacheRequest

interface Entry {
  readonly head: stored.StoredHead
  readonly body: string
}

/**
 * Plays rows on the policy: the simplest cache that can be built from it, one request after the other, on a clock that
 * is a number.
 */
export const policyBench = (parts: Policy = policy): Bench => {
  let ms = 0
  const clock: Clock = {
    now: () => ms,
    set: (to) => {
      ms = to
    },
  }
  return {
    name: 'policy',
    clock,
    eventual: false,
    open: async (row, origin) => new PolicySession(parts, toCacheRules(row.cache), clock, origin),
  }
}

class PolicySession implements Session {
  readonly #parts: Policy
  readonly #rules: CacheRules
  readonly #clock: Clock
  readonly #origin: Origin
  readonly #resources = new Map<string, Entry[]>()
  /** The background work. */
  #later: (() => void) | null = null

  constructor(parts: Policy, rules: CacheRules, clock: Clock, origin: Origin) {
    this.#parts = parts
    this.#rules = rules
    this.#clock = clock
    this.#origin = origin
  }

  async settle(): Promise<void> {
    const later = this.#later
    this.#later = null
    later?.()
  }

  async send(asked: ClientRequest): Promise<ClientResponse> {
    const parts = this.#parts
    const fields = asked.fields.map((text) => text.trim())
    if (asked.operation === 'inventory.sync') return this.#forwardUnsafe(asked, fields)
    const facts = { authority: 'gateway.test', hasBody: asked.body !== null, hasCertificate: false }
    const request = parts.parseCacheRequest(fields, facts, this.#rules)
    const bypass = parts.bypassReason(request, this.#rules)
    if (bypass !== null) return request.onlyIfCached ? notCached : this.#forward(fields, 'bypass', bypass)
    const key = [asked.client, asked.operation, asked.query].join(' ')
    const variants = this.#resources.get(key)
    const found = variants === undefined ? null : parts.selectVariant(variants, request)
    if (found === null) {
      if (request.onlyIfCached) return notCached
      const why = variants === undefined ? 'uri-miss' : 'vary-miss'
      return request.range === null ? this.#fetch(key, request, null, why) : this.#forward(fields, why, 'range')
    }
    const now = this.#clock.now()
    const verdict = parts.decideReuse(found.head, request, now)
    if (verdict.kind === 'not-cached') return notCached
    if (verdict.kind === 'fetch')
      return request.range === null
        ? this.#fetch(key, request, found, verdict.why)
        : this.#forward(fields, verdict.why, 'range')
    if (verdict.kind === 'stale' && verdict.revalidate)
      this.#later = () => void this.#fetch(key, request, found, 'stale')
    const got = this.#serve(found, request, parts.storedFields(found.head, now))
    return withStatus(got, parts.hitStatus(found.head.freshUntil - now))
  }

  /** Forwards an unsafe request, and removes what it made invalid. */
  #forwardUnsafe({ query }: ClientRequest, fields: readonly string[]): ClientResponse {
    const given = this.#send(fields)
    if (typeof given === 'string') return failed
    const uri = { origin: 'http://gateway.test', basePath: '', path: '/inventory/sync', query }
    for (const target of this.#parts.invalidationTargets(given, uri))
      for (const key of [...this.#resources.keys()])
        if (key.endsWith(` ${target.operation} ${target.query}`)) this.#resources.delete(key)
    return given
  }

  /** Forwards a request as it came. */
  #forward(fields: readonly string[], why: reuse.FwdReason, detail: cacheStatus.CacheStatusDetail): ClientResponse {
    const given = this.#send(fields)
    if (typeof given === 'string') return failed
    return withStatus(given, this.#parts.forwardedStatus(member(why, null, false, detail)))
  }

  /** Fetches the whole, with the stored response's own conditions where it has any. */
  #fetch(key: string, request: CacheRequest, found: Entry | null, why: reuse.FwdReason): ClientResponse {
    const parts = this.#parts
    const validates = found !== null && parts.hasValidator(found.head) ? found : null
    const plain = parts.withoutConditions(request.fields)
    const requestedAt = this.#clock.now()
    const given = this.#send(validates === null ? plain : [...plain, ...parts.conditionFields(validates.head)])
    const receivedAt = this.#clock.now()
    const times = { requestedAt, receivedAt, receivedEpoch: receivedAt }
    if (typeof given === 'string') return this.#serveStale(found, request, 'disconnected', null) ?? failed
    if (given.status === 304 && validates !== null) {
      const update = parts.freshenStored(validates.head, request, { reason: '', ...given }, times, this.#rules)
      if (update.kind === 'other') return this.#fetch(key, request, null, why)
      const head = update.kind === 'updated' ? update.stored.head : validates.head
      if (head === null) this.#remove(key, validates, request)
      else this.#store(key, { head, body: validates.body }, validates)
      const served = this.#serve({ head: head ?? validates.head, body: validates.body }, request, update.fields)
      const notStored = update.kind === 'updated' && update.stored.head === null ? update.stored.notStored : null
      return withStatus(served, parts.forwardedStatus(member(why, 304, head !== null, notStored)))
    }
    const isError = [500, 502, 503, 504].includes(given.status)
    const stale = isError ? this.#serveStale(found, request, 'error', given.status) : null
    if (stale !== null) return stale
    if (found !== null && parts.keepsPlace(found.head, given.status, request, times.receivedAt))
      return withStatus(given, parts.forwardedStatus(member(why, null, false, 'stale-if-error')))
    const verdict = parts.assessStorability(request, { reason: '', ...given }, times, this.#rules)
    const { head } = verdict
    const whole = head === null ? null : parts.withContentLength(head, Buffer.byteLength(given.body, 'latin1'))
    const isSmall = given.body.length <= this.#rules.maxEntry
    const status = parts.forwardedStatus(
      member(why, null, whole !== null && isSmall, verdict.head === null ? verdict.notStored : null),
    )
    if (whole === null || !isSmall) {
      if (found !== null && !parts.isServerError(given.status)) this.#remove(key, found, request)
      return withStatus(given, status)
    }
    const entry = { head: whole, body: given.body }
    this.#store(key, entry, found)
    return withStatus(this.#serve(entry, request, given.fields), status)
  }

  /** Serves what may stand in for a failure; null: nothing. */
  #serveStale(
    found: Entry | null,
    request: CacheRequest,
    trouble: reuse.UpstreamTrouble,
    code: number | null,
  ): ClientResponse | null {
    const now = this.#clock.now()
    if (found === null || !this.#parts.mayServeStale(found.head, request, trouble, now)) return null
    const served = this.#serve(found, request, this.#parts.storedFields(found.head, now))
    return withStatus(served, this.#parts.forwardedStatus(member('stale', code, false)))
  }

  #serve({ head, body }: Entry, request: CacheRequest, fields: readonly string[]): ClientResponse {
    const served = this.#parts.planResponse(head, body.length, request, fields)
    const { body: part } = served
    const text = part === 'whole' ? body : part === 'none' ? '' : body.slice(part.start, part.end)
    return { status: served.status, fields: served.fields, body: text }
  }

  #store(key: string, entry: Entry, replaced: Entry | null): void {
    const isSame = ({ head }: Entry): boolean =>
      head.varies.join() === entry.head.varies.join() && head.selecting === entry.head.selecting
    const others = (this.#resources.get(key) ?? []).filter((each) => each !== replaced && !isSame(each))
    this.#resources.set(key, [...others, entry])
  }

  /** Removes what the request could have selected: the response is about all of it. */
  #remove(key: string, entry: Entry, request: CacheRequest): void {
    const before = this.#resources.get(key) ?? []
    const others = before.filter((each) => each !== entry && this.#parts.selectVariant([each], request) === null)
    if (others.length === 0) this.#resources.delete(key)
    else this.#resources.set(key, others)
  }

  #send(fields: readonly string[]): OriginResponse | 'refused' | 'reset' | 'truncated' {
    if (this.#origin.isDown) return 'refused'
    const given = this.#origin.receive(fields)
    return typeof given === 'string' ? given : { ...given, fields: given.fields.map((text) => text.trim()) }
  }
}

const notCached: ClientResponse = { status: 504, fields: [], body: '' }

const failed: ClientResponse = { status: 502, fields: [], body: '' }

const member = (
  why: reuse.FwdReason,
  status: number | null,
  isStored: boolean,
  detail: cacheStatus.CacheStatusDetail | null = null,
) => ({ why, status, stored: isStored, collapsed: false, ttlMs: null, detail })

/** Adds the gateway's member of Cache-Status, on a line of its own as relaying does. */
const withStatus = ({ status, fields, body }: ClientResponse, value: string): ClientResponse => ({
  status,
  fields: [...fields, 'Cache-Status', value],
  body,
})
