import * as invalidating from '../../../src/layers/cache/invalidation.ts'
import type { CacheRules } from '../../../src/layers/cache/policy/cache-request.ts'
import * as request from '../../../src/layers/cache/policy/cache-request.ts'
import * as cacheStatus from '../../../src/layers/cache/policy/cache-status.ts'
import * as serving from '../../../src/layers/cache/policy/respond.ts'
import * as reuse from '../../../src/layers/cache/policy/reuse.ts'
import * as validating from '../../../src/layers/cache/policy/revalidation.ts'
import * as statuses from '../../../src/layers/cache/policy/status-codes.ts'
import * as storing from '../../../src/layers/cache/policy/storability.ts'
import * as stored from '../../../src/layers/cache/policy/stored-head.ts'
import * as validators from '../../../src/layers/cache/policy/validators.ts'
import * as selecting from '../../../src/layers/cache/policy/vary.ts'
import type { Clock, Given, Origin } from '../origin.ts'
import type { Asked, Bench, Got, Session } from '../play.ts'
import { rulesOf } from './rules.ts'

/** Is the pure policy: all that decides, and nothing that fetches or keeps. */
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

/** Plays rows on the policy: the simplest cache that can be built from it, one request after the other, on a clock that is a number. */
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
    open: async (row, origin) => new Simple(parts, rulesOf(row.cache), clock, origin),
  }
}

class Simple implements Session {
  readonly #parts: Policy
  readonly #rules: CacheRules
  readonly #clock: Clock
  readonly #origin: Origin
  readonly #resources = new Map<string, Entry[]>()
  /** What goes on behind the client's back. */
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

  async ask(asked: Asked): Promise<Got> {
    const parts = this.#parts
    const fields = asked.fields.map((text) => text.trim())
    if (asked.operation === 'inventory.sync') return this.#change(asked, fields)
    const facts = { authority: 'gateway.test', hasBody: asked.body !== null, hasCertificate: false }
    const request = parts.parseCacheRequest(fields, facts, this.#rules)
    const bypass = parts.bypassReason(request, this.#rules)
    if (bypass !== null) return request.onlyIfCached ? unanswered : this.#pass(fields, 'bypass', bypass)
    const key = [asked.client, asked.operation, asked.query].join(' ')
    const variants = this.#resources.get(key)
    const found = variants === undefined ? null : parts.selectVariant(variants, request)
    if (found === null) {
      if (request.onlyIfCached) return unanswered
      const why = variants === undefined ? 'uri-miss' : 'vary-miss'
      return request.range === null ? this.#fetch(key, request, null, why) : this.#pass(fields, why, 'range')
    }
    const now = this.#clock.now()
    const verdict = parts.decideReuse(found.head, request, now)
    if (verdict.kind === 'not-cached') return unanswered
    if (verdict.kind === 'fetch')
      return request.range === null
        ? this.#fetch(key, request, found, verdict.why)
        : this.#pass(fields, verdict.why, 'range')
    if (verdict.kind === 'stale' && verdict.revalidate)
      this.#later = () => void this.#fetch(key, request, found, 'stale')
    const got = this.#serve(found, request, parts.storedFields(found.head, now))
    return withStatus(got, parts.hitStatus(found.head.freshUntil - now))
  }

  /** Writes an unsafe request through, and forgets what it made invalid. */
  #change({ query }: Asked, fields: readonly string[]): Got {
    const given = this.#send(fields)
    if (typeof given === 'string') return failed
    const uri = { origin: 'http://gateway.test', basePath: '', path: '/inventory/sync', query }
    for (const target of this.#parts.invalidationTargets(given, uri))
      for (const key of [...this.#resources.keys()])
        if (key.endsWith(` ${target.operation} ${target.query}`)) this.#resources.delete(key)
    return given
  }

  /** Forwards a request as it came. */
  #pass(fields: readonly string[], why: reuse.FwdReason, detail: cacheStatus.CacheStatusDetail): Got {
    const given = this.#send(fields)
    if (typeof given === 'string') return failed
    return withStatus(given, this.#parts.forwardedStatus(member(why, null, false, detail)))
  }

  /** Asks for the whole, by the stored answer's own conditions where it has any. */
  #fetch(key: string, request: CacheRequest, found: Entry | null, why: reuse.FwdReason): Got {
    const parts = this.#parts
    const validates = found !== null && parts.hasValidator(found.head) ? found : null
    const plain = parts.withoutConditions(request.fields)
    const requestedAt = this.#clock.now()
    const given = this.#send(validates === null ? plain : [...plain, ...parts.conditionFields(validates.head)])
    const times = { requestedAt, receivedAt: this.#clock.now() }
    if (typeof given === 'string') return this.#instead(found, request, 'disconnected', null) ?? failed
    if (given.status === 304 && validates !== null) {
      const made = parts.freshenStored(validates.head, request, { reason: '', ...given }, times, this.#rules)
      if (made.kind === 'other') return this.#fetch(key, request, null, why)
      const head = made.kind === 'updated' ? made.stored.head : validates.head
      if (head === null) this.#forget(key, validates, request)
      else this.#keep(key, { head, body: validates.body }, validates)
      const served = this.#serve({ head: head ?? validates.head, body: validates.body }, request, made.fields)
      const not = made.kind === 'updated' && made.stored.head === null ? made.stored.notStored : null
      return withStatus(served, parts.forwardedStatus(member(why, 304, head !== null, not)))
    }
    const isError = [500, 502, 503, 504].includes(given.status)
    const instead = isError ? this.#instead(found, request, 'error', given.status) : null
    if (instead !== null) return instead
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
      if (found !== null && !parts.isServerError(given.status)) this.#forget(key, found, request)
      return withStatus(given, status)
    }
    const entry = { head: whole, body: given.body }
    this.#keep(key, entry, found)
    return withStatus(this.#serve(entry, request, given.fields), status)
  }

  /** What may stand in for a failure; null: nothing. */
  #instead(
    found: Entry | null,
    request: CacheRequest,
    trouble: reuse.UpstreamTrouble,
    code: number | null,
  ): Got | null {
    const now = this.#clock.now()
    if (found === null || !this.#parts.mayServeStale(found.head, request, trouble, now)) return null
    const served = this.#serve(found, request, this.#parts.storedFields(found.head, now))
    return withStatus(served, this.#parts.forwardedStatus(member('stale', code, false)))
  }

  #serve({ head, body }: Entry, request: CacheRequest, fields: readonly string[]): Got {
    const served = this.#parts.planResponse(head, body.length, request, fields)
    const { body: part } = served
    const text = part === 'whole' ? body : part === 'none' ? '' : body.slice(part.start, part.end)
    return { status: served.status, fields: served.fields, body: text }
  }

  #keep(key: string, entry: Entry, instead: Entry | null): void {
    const isSame = ({ head }: Entry): boolean =>
      head.varies.join() === entry.head.varies.join() && head.selecting === entry.head.selecting
    const others = (this.#resources.get(key) ?? []).filter((each) => each !== instead && !isSame(each))
    this.#resources.set(key, [...others, entry])
  }

  /** Forgets what the request could have been answered with: what has come is about all of it. */
  #forget(key: string, entry: Entry, request: CacheRequest): void {
    const before = this.#resources.get(key) ?? []
    const others = before.filter((each) => each !== entry && this.#parts.selectVariant([each], request) === null)
    if (others.length === 0) this.#resources.delete(key)
    else this.#resources.set(key, others)
  }

  #send(fields: readonly string[]): Given | 'refused' | 'reset' | 'truncated' {
    if (this.#origin.gone) return 'refused'
    const given = this.#origin.receive(fields)
    return typeof given === 'string' ? given : { ...given, fields: given.fields.map((text) => text.trim()) }
  }
}

const unanswered: Got = { status: 504, fields: [], body: '' }

const failed: Got = { status: 502, fields: [], body: '' }

const member = (
  why: reuse.FwdReason,
  status: number | null,
  isStored: boolean,
  detail: cacheStatus.CacheStatusDetail | null = null,
) => ({ why, status, stored: isStored, collapsed: false, ttlMs: null, detail })

/** Adds the gateway's member of Cache-Status, on a line of its own as relaying does. */
const withStatus = ({ status, fields, body }: Got, value: string): Got => ({
  status,
  fields: [...fields, 'Cache-Status', value],
  body,
})
