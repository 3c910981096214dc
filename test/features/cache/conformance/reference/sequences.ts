import fc from 'fast-check'
import { vi } from 'vitest'
import type { Handler } from '../../../../../src/core/exchange/exchange.ts'
import { getFirstFieldValue } from '../../../../../src/core/exchange/header-fields.ts'
import { cacheLayer } from '../../../../../src/features/cache/cache.ts'
import { type CachePartition, createCachePartition } from '../../../../../src/features/cache/partition.ts'
import { CacheStore } from '../../../../../src/features/cache/store/cache-store.ts'
import { rules as cacheRules } from '../../policy/helper.ts'
import { cacheEvents, sendTo } from '../layer.ts'
import type { ClientRequest, ClientResponse } from '../play.ts'
import { ageOf, type Circumstances, confirms, type Past, type Request, type Rules, unusable } from './model.ts'
import { type Call, type Say, World } from './world.ts'

const operations = ['market.insights', 'leads.pipeline'] as const

const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: others.length * 2 }, fc.constantFrom(usual, ...others))

/** Drops the fields that a client or an upstream does not send. */
const present = (fields: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value === null ? [] : [[name, value]])))

const question = fc.record({
  client: fc.constantFrom('a', 'b'),
  operation: mostly(...operations),
  query: mostly('?q=1', '', '?q=2'),
  fields: fc
    .record({
      'accept-language': mostly<string | null>('de', null, 'en'),
      'x-a': mostly<string | null>(null, '1', '2'),
      authorization: mostly<string | null>(null, 'Bearer x', 'Bearer y'),
      cookie: mostly<string | null>(null, 'c=1'),
      'if-none-match': mostly<string | null>(null, '"e1"', '"e2"'),
      'cache-control': mostly<string | null>(
        null,
        ...['no-cache', 'no-store', 'max-age=5', 'min-fresh=5', 'max-stale', 'max-stale=10', 'only-if-cached'],
      ),
    })
    .map(present),
})

const flags = ['no-store', 'private', 'no-cache', 'must-revalidate', 'proxy-revalidate', 'public', 'must-understand']
const times = [
  'max-age=0',
  'max-age=5',
  'max-age=5, must-revalidate',
  'max-age=30',
  's-maxage=10',
  'max-age=30, s-maxage=5',
  'max-age=5, s-maxage=30',
]

const says: fc.Arbitrary<Say> = fc.record({
  status: mostly(200, 299, 301, 404, 500, 503),
  trouble: fc.constantFrom(null, null, null, null, 'refused', 'reset', 'truncated'),
  takes: mostly(0, 2),
  fields: fc
    .record({
      'cache-control': fc
        .tuple(
          fc.constantFrom(...times),
          mostly('', ...flags),
          mostly('', ...flags),
          mostly('', 'stale-while-revalidate=10', 'stale-if-error=20'),
        )
        .map((parts) => parts.filter((part) => part !== '').join(', ')),
      vary: mostly<string | null>(null, 'Accept-Language', 'X-A', 'x-a, Accept-Language', '*'),
      etag: mostly<string | null>('"e1"', null, '"e2"', 'W/"e1"'),
      age: mostly<string | null>(null, '3', '20'),
      'set-cookie': mostly<string | null>(null, 'a=b'),
    })
    .map(present),
})

const act = fc.oneof(
  { arbitrary: fc.record({ wait: fc.constantFrom(0, 1, 3, 6, 20, 90) }), weight: 3 },
  { arbitrary: fc.record({ says }), weight: 3 },
  { arbitrary: fc.record({ ask: fc.array(question, { minLength: 1, maxLength: 3 }) }), weight: 8 },
  { arbitrary: fc.record({ invalidate: fc.constantFrom('?q=1', '') }), weight: 1 },
)

/** A configuration, and what happens to a cache that has it. */
export const story = fc.record({
  shared: fc.boolean(),
  known: fc.boolean(),
  acts: fc.array(act, { minLength: 5, maxLength: 60, size: 'max' }),
})

type Story = typeof story extends fc.Arbitrary<infer T> ? T : never

/** The count of reused responses, over all stories. */
export interface Tally {
  reused: number
}

/** Plays a story, and throws at the first response that the model would not have given. */
export const playStory = async ({ shared, known, acts }: Story, tally: Tally): Promise<void> => {
  vi.setSystemTime(Date.UTC(2026, 0, 1))
  const rules: Rules = { shared, disconnected: 60 }
  const world = new World(rules)
  const store = new CacheStore(1024 ** 2)
  const parts = new Map<ClientRequest['operation'], CachePartition>(
    operations.map((id) => [id, createCachePartition(store, id)]),
  )
  const handlers = new Map<ClientRequest['operation'], Handler>()
  for (const [id, partition] of parts)
    handlers.set(id, cacheLayer(cacheRules({ shared }), partition, cacheEvents)(world.send))
  let requests = 0

  const ask = async ({
    client,
    operation,
    query,
    fields,
  }: typeof question extends fc.Arbitrary<infer T> ? T : never): Promise<() => void> => {
    const request: Request = { id: ++requests, client: known ? client : null, uri: operation + query, fields }
    const sent = { ...fields, 'x-request': String(request.id) }
    world.expect(request)
    const before = world.pasts.map((past) => ({ ...past }))
    const from = world.now
    const sentRequest = { client: request.client, operation, query, fields: Object.entries(sent).flat(), body: null }
    const response = await sendTo(handlers.get(operation) as Handler, sentRequest)
    const calls = [...world.calls]
    const to = world.now
    return () => {
      if (response.body !== '' && !calls.some((call) => call.request.id === request.id)) tally.reused++
      // A response that came during other requests may have come before this one was served, or after.
      const event = { request, response, calls, from, to }
      const fault = findFault({ ...event, pasts: world.pasts }, rules)
      if (fault !== null && findFault({ ...event, pasts: before }, rules) === null) return
      if (fault !== null) throw new Error(`request ${request.id} (${JSON.stringify(request)}): ${fault}`)
    }
  }

  for (const each of acts) {
    world.calls = []
    if ('wait' in each) world.wait(each.wait)
    else if ('says' in each) world.says = each.says
    else if ('invalidate' in each) {
      parts.get('market.insights')?.invalidate(each.invalidate)
      world.invalidate(`market.insights${each.invalidate}`)
    } else {
      world.isCrowded = each.ask.length > 1
      const judged = await Promise.all(each.ask.map(ask))
      for (const judge of judged) judge()
      await settle()
    }
  }
}

/** Waits for the background work to end. */
const settle = async (): Promise<void> => {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** What happened during a request; others may have been under way at the same time. */
interface Event {
  readonly request: Request
  readonly response: ClientResponse
  readonly calls: readonly Call[]
  /** When it was sent, and when the response came. */
  readonly from: number
  readonly to: number
  readonly pasts: readonly Past[]
}

/** Returns what is wrong with a response; null: nothing. */
const findFault = (event: Event, rules: Rules): string | null => {
  const { request, response, calls, pasts } = event
  const own = calls.filter((call) => call.request.id === request.id)
  const directives = request.fields['cache-control'] ?? ''
  const responses = calls.flatMap(({ response }) => response ?? [])
  const isDisconnected = calls.some(({ response }) => response === null)
  const isFailing = responses.some(({ status }) => [500, 502, 503, 504].includes(status))
  const named = getFirstFieldValue(response.fields, 'x-answer')
  if (named === undefined) {
    if (response.status === 304) return own.some(({ response }) => response?.status === 304) ? null : 'a 304 of nothing'
    if (response.status === 504 && directives.includes('only-if-cached')) return null
    return isDisconnected || response.status < 500 ? null : `a ${response.status} out of nothing`
  }
  const id = Number(named)
  const versions = pasts.filter(({ body }) => body === id)
  if (versions.length === 0) return `the upstream never sent answer ${id}`
  const isOwn = own.some(({ response }) => response?.id === id)
  if (isOwn && directives.includes('only-if-cached')) return 'the upstream was asked'
  const trouble: Circumstances['trouble'] = isDisconnected ? 'disconnected' : isFailing ? 'error' : 'none'
  const whys = versions.map(
    (past) => wrongBody(past, response) ?? (isOwn ? null : wrongUse(past, event, trouble, rules)),
  )
  return whys.includes(null) ? null : `answer ${id}: ${whys.join('; or ')}`
}

const wrongBody = ({ isCut, body }: Past, response: ClientResponse): string | null =>
  response.status === 304 || (isCut ? 'cut'.startsWith(response.body) : response.body === `answer ${body}`)
    ? null
    : `body ${response.body}`

/** Returns why a request may not be served what came for another. */
const wrongUse = (
  past: Past,
  { request, response, calls, from, to }: Event,
  trouble: Circumstances['trouble'],
  rules: Rules,
): string | null => {
  // A request that waits for the same fetch is cut with the one that began it.
  if (past.isCut && !calls.some(({ response }) => response?.id === past.body)) return 'it was cut'
  const confirming = calls.filter(
    (call) => call.response?.status === 304 && confirms(past, call.request, call.response.fields, rules),
  )
  const isForThis = confirming.some((call) => call.request.id === request.id)
  const validated = isForThis ? 'this' : confirming.length > 0 ? 'another' : 'none'
  const why = unusable(past, request, { now: from, validated, trouble }, rules)
  if (why !== null || validated !== 'none') return why
  const age = Number(getFirstFieldValue(response.fields, 'age'))
  const [min, max] = [ageOf(past.current, from), ageOf(past.current, to)]
  return age >= min - 1 && age <= max ? null : `Age ${age}, not ${min} to ${max}`
}
