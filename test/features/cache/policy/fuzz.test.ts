import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planResponse, storedFields } from '../../../../src/features/cache/cache-response.ts'
import { invalidationTargets } from '../../../../src/features/cache/invalidation.ts'
import { bypassReason } from '../../../../src/features/cache/policy/cache-request.ts'
import { decideReuse, mayServeStale } from '../../../../src/features/cache/policy/reuse.ts'
import { freshenStored } from '../../../../src/features/cache/policy/storability.ts'
import { selectingKey, withContentLength } from '../../../../src/features/cache/policy/stored-head.ts'
import { assess, at, createRequest, noon, rules } from './helper.ts'

// Fragments of what these fields hold, put together in any way.
const directives = 'max-age s-maxage no-cache no-store private public must-revalidate must-understand'
const others = 'stale-if-error max-stale min-fresh only-if-cached bytes W/ "a" * accept /market/insights'
const pieces = fc.constantFrom(
  ...`${directives} ${others}`.split(' '),
  ...['=', '"', ',', ';', '-', ' ', '\\', '?', '0', '5', '60', '9'.repeat(30), at(-99), at(0), at(99), '\xe9'],
)
const value = fc.array(pieces, { maxLength: 6 }).map((parts) => parts.join(''))
const names =
  'Cache-Control cache-control Expires Date Age ETag Last-Modified Vary Set-Cookie Content-Length Location If-None-Match ' +
  'If-Modified-Since Range If-Range Pragma Accept Cookie Authorization constructor __proto__'
const line = fc.tuple(fc.constantFrom(...names.split(' '), ''), value)
const fields = fc.array(line, { maxLength: 8 }).map((lines) => lines.flat())
// Of any text, hardly one response could be stored.
const storable = fields.map((some) => ['Cache-Control', 'public, max-age=60', 'ETag', '"a"', ...some])
const status = fc.constantFrom(200, 200, 200, 203, 206, 304, 404, 416, 503, 777)

test('for any fields, nothing throws, and the decisions are consistent', () => {
  const given = { shared: true, heuristic: true, staleIfErrorMs: 5000 }
  let stored = 0
  fc.assert(
    fc.property(
      fields,
      fc.oneof(fields, storable, storable),
      fields,
      status,
      fc.integer({ min: -100, max: 100 }),
      (requestFields, responseFields, notModifiedFields, code, seconds) => {
        const request = createRequest(requestFields, given)
        const now = noon + seconds * 1000
        bypassReason(request, rules(given))
        invalidationTargets(
          { status: code, fields: responseFields },
          { origin: 'http://a', basePath: '', path: '/x', query: '' },
        )
        const { head } = assess(responseFields, { ...given, status: code, request: requestFields })
        if (head === null) return
        stored++

        const verdict = decideReuse(head, request, now)
        const served = planResponse(head, 10, request, storedFields(head, now))
        const validated = freshenStored(
          head,
          request,
          { status: 304, reason: '', fields: notModifiedFields },
          { requestedAt: now, receivedAt: now, receivedEpoch: now },
          rules(given),
        )

        expect(head.bornAt).toBeLessThanOrEqual(noon)
        expect(head.freshUntil).toBeGreaterThanOrEqual(head.bornAt)
        expect(head.selecting).toBe(selectingKey(head.varies, request))
        if (verdict.kind === 'fresh') expect(now).toBeLessThan(head.freshUntil)
        if (verdict.kind === 'stale' || mayServeStale(head, request, 'disconnected', now))
          expect(head.mayBeStale).toBe(true)
        if (served.status !== code) expect(code).toBe(200)
        if (validated.kind === 'updated' && validated.stored.head !== null)
          expect(validated.stored.head.bornAt).toBeLessThanOrEqual(now)
        expect(withContentLength(head, 3)?.fields.join('\n').toLowerCase() ?? 'content-length').toContain(
          'content-length',
        )
      },
    ),
    { numRuns: 500 },
  )
  expect(stored).toBeGreaterThan(100)
})
