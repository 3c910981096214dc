import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { liveGatewayForAll, type SharedGateway } from '../../../helpers/live-gateway.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

// The attack: a trace context that breaks its parser, changes on its way, or carries text where only ids belong.
const traceId = fc.stringMatching(/^[0-9a-f]{32}$/)
const spanId = fc.stringMatching(/^[0-9a-f]{16}$/)
const nearly = fc
  .tuple(fc.stringMatching(/^([0-9a-f]{2}|ff|00|0|000)$/), traceId, spanId, fc.stringMatching(/^[0-9a-fA-F]{1,3}$/))
  .chain((parts) => fc.tuple(fc.constant(parts), fc.constantFrom('-', '_', ' ', '--'), fc.stringMatching(/^(|-.*)$/)))
  .map(([parts, between, rest]) => parts.join(between) + rest)
const text = fc.stringMatching(/^[\x21-\x7e\x80-\xff]([\x20-\x7e\x80-\xff]{0,80}[\x21-\x7e\x80-\xff])?$/)
const value = fc.oneof(
  nearly,
  text,
  fc.tuple(traceId, spanId).map(([trace, span]) => `00-${trace}-${span}-01`),
  fc.constantFrom('', '-', '00', `00-${'f'.repeat(4000)}-1-01`, ','.repeat(2000), 'a=1,'.repeat(600)),
)
const isPrintable = (each: string): boolean => /^[\x20-\x7e\x80-\xff]*$/.test(each) && each.trim() === each
const name = fc.constantFrom('traceparent', 'tracestate', 'TraceParent', 'TRACESTATE')
const hostile = fc.array(fc.tuple(name, value.filter(isPrintable)), { maxLength: 4 }).map((fields) => fields.flat())

const canonical = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/
// No receiver is there, which no test here depends on.
const on = liveGatewayForAll({ tracing: { otlp: 'http://127.0.0.1:9/v1/traces', sample: '50%' } })
const off = liveGatewayForAll()

const sent = async ({ port, server }: SharedGateway, fields: readonly string[]) => {
  const response = await call(port, { fields })
  const arrived = server.requests.at(-1)?.rawHeaders ?? []
  return { status: response.status, fields: arrived.filter((_, i) => /^trace/i.test(arrived[i - (i % 2)] ?? '')) }
}

describe('whatever a client says of its trace', () => {
  test('with tracing off it goes on to the byte', async () => {
    await fc.assert(
      fc.asyncProperty(hostile, async (fields) => {
        expect(await sent(off, fields)).toEqual({ status: 200, fields })
      }),
      { numRuns: 50 },
    )
  })

  test('with tracing on it is served, and the upstream gets one sound parent, and a state only with a sound one', async () => {
    await fc.assert(
      fc.asyncProperty(hostile, async (fields) => {
        const { status, fields: arrived } = await sent(on, fields)

        expect(status).toBe(200)
        expect(fieldValues(arrived, 'traceparent')).toEqual([expect.stringMatching(canonical)])
        const said = fieldValues(fields, 'traceparent')
        const isSound = said.length === 1 && canonical.test(said[0] ?? '') && !/^00-.{52}./.test(said[0] ?? '')
        expect(fieldValues(arrived, 'tracestate')).toEqual(isSound ? fieldValues(fields, 'tracestate') : [])
      }),
      { numRuns: 100 },
    )
  })
})
