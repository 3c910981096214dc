import fc from 'fast-check'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { getFirstFieldValue } from '../../../src/core/exchange/header-fields.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { runs, testAndDrill } from '../../helpers/speed.ts'
import { Client, createResponse, openCache, settled } from './helper.ts'

beforeAll(() => void vi.useFakeTimers())
afterAll(() => void vi.useRealTimers())

const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: others.length * 2 }, fc.constantFrom(usual, ...others))

const asked = fc.record({
  client: fc.constantFrom('a', 'b'),
  query: mostly('?q=1', ''),
  language: mostly('de', 'en'),
  authorization: mostly('', 'Bearer x'),
  control: mostly('', 'no-cache', 'no-store', 'max-age=5', 'min-fresh=5', 'max-stale=10', 'only-if-cached'),
})

const said = fc.record({
  failure: mostly(null, 'connect-failed' as const),
  status: mostly(200, 404, 503),
  control: fc
    .tuple(
      fc.constantFrom('max-age=5', 'max-age=30', 's-maxage=10'),
      mostly('', 'no-store', 'private', 'no-cache', 'must-revalidate', 'proxy-revalidate', 'public'),
      mostly('', 'stale-while-revalidate=10', 'stale-if-error=20'),
    )
    .map((parts) => parts.join()),
  vary: mostly('', 'Accept-Language', '*'),
  cookie: mostly('', 'a=b'),
})

type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never
type Said = typeof said extends fc.Arbitrary<infer T> ? T : never

const present = (fields: Readonly<Record<string, string>>): string[] =>
  Object.entries(fields).flatMap(([name, value]) => (value === '' ? [] : [name, value]))

/** A response that came, and for which request. */
interface Past {
  readonly asked: Asked
  readonly said: Said
  readonly at: number
}

/** The argument of a directive; -1: it is not there. */
const seconds = (control: string, name: string): number =>
  Number(
    control
      .split(',')
      .find((each) => each.startsWith(`${name}=`))
      ?.split('=')[1] ?? -1,
  )

/** RFC 9111 to the letter: why a stored response may not be served to another request; null: it may. */
const findFault = (past: Past, request: Asked, now: number, current: Said): string | null => {
  const { control, vary, cookie } = past.said
  const says = (...names: string[]): boolean => names.some((name) => control.split(',').includes(name))
  if (past.asked.client !== request.client || past.asked.query !== request.query) return 'another key'
  if (past.asked.authorization + request.authorization !== '') return 'credentials'
  if (vary === '*' || (vary !== '' && past.asked.language !== request.language)) return 'another variant'
  if (says('no-store', 'private', 'no-cache') || past.asked.control === 'no-store') return 'not for reuse'
  if (cookie !== '' && !says('public')) return 'a cookie'
  const age = now - past.at
  const staleness = age - Math.max(seconds(control, 'max-age'), seconds(control, 's-maxage'))
  const mayBeStale = !says('must-revalidate', 'proxy-revalidate') && seconds(control, 's-maxage') < 0
  // In place of a failure, what the client prefers does not count (RFC 5861 §4).
  const isDown = current.failure !== null
  const standsIn = isDown ? Math.max(60, seconds(control, 'stale-if-error')) : seconds(control, 'stale-if-error')
  if ((isDown || current.status === 503) && (staleness < 0 || (mayBeStale && staleness <= standsIn))) return null
  if (request.control === 'no-cache') return 'no-cache'
  if (request.control === 'max-age=5' && age > 5) return 'older than asked for'
  if (request.control === 'min-fresh=5' && staleness > -5) return 'not fresh for as long as asked for'
  if (staleness < 0) return null
  const allowed = Math.max(seconds(control, 'stale-while-revalidate'), seconds(request.control, 'max-stale'))
  return mayBeStale && staleness <= allowed ? null : `stale by ${staleness}`
}

const acts = fc.array(
  fc.oneof(
    { arbitrary: fc.record({ wait: fc.constantFrom(1, 3, 6, 20, 90) }), weight: 3 },
    { arbitrary: fc.record({ said }), weight: 3 },
    { arbitrary: fc.record({ asked: fc.array(asked, { minLength: 1, maxLength: 3 }) }), weight: 8 },
  ),
  { minLength: 5, maxLength: 60, size: 'max' },
)

testAndDrill('whatever happens, nothing is reused that RFC 9111 does not allow', async () => {
  let reused = 0
  const story = fc.asyncProperty(acts, said, async (all, saidFirst) => {
    const pasts: Past[] = []
    const requests: Asked[] = []
    let current = saidFirst
    const now = (): number => Date.now() / 1000
    const handle = openCache().layer(async ({ fields }) => {
      const by = requests[Number(getFirstFieldValue(fields, 'x-request'))] as Asked
      await Promise.resolve()
      if (current.failure !== null) throw new GatewayError(current.failure)
      const { status, control, vary, cookie } = current
      const own = { 'Cache-Control': control, Vary: vary, 'Set-Cookie': cookie }
      return createResponse(present(own), `${pasts.push({ asked: by, said: current, at: now() }) - 1}`, status)
    })
    const ask = async (request: Asked): Promise<void> => {
      const { client, query, language, authorization, control } = request
      const own = { 'Accept-Language': language, Authorization: authorization, 'Cache-Control': control }
      const fields = [...present(own), 'X-Request', `${requests.push(request) - 1}`]
      const exchange = fakeExchange({ query, fields })
      exchange.identity = { client, method: 'apiKey', keyId: null }
      const response = await handle(exchange).catch(() => null)
      if (response === null) return
      const past = pasts[Number(new Client(response.body).text)] as Past
      if (past.asked === request) return
      reused++
      expect(findFault(past, request, now(), current)).toBeNull()
    }
    for (const act of all) {
      if ('wait' in act) vi.advanceTimersByTime(act.wait * 1000)
      else if ('said' in act) current = act.said
      else await Promise.all(act.asked.map(ask))
      await settled()
    }
  })
  await fc.assert(story, { numRuns: runs(500) })
  expect(reused).toBeGreaterThan(100)
})
