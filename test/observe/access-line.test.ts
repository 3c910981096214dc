import fc from 'fast-check'
import pino from 'pino'
import { expect, test } from 'vitest'
import { logAccess } from '../../src/observe/access-log.ts'
import { clientAddress } from '../../src/public/peer.ts'
import { isSaneId } from '../../src/public/request-id.ts'
import { networks } from '../../src/shared/networks.ts'

const peer = { address: '10.0.0.1', trusted: true, secure: false, certificate: () => null }
const isTrusted = networks(['10.0.0.0/8'])

// What a client can put there: an id that is kept, and an address behind a trusted proxy. Quotes and backslashes above all.
const hostile = fc.string({
  unit: fc.constantFrom('"', '\\', '\n', '%', ':', '.', 'f', 'e', '8', '0', '1', '[', ']', ' ', '}'),
})
const id = fc.oneof(hostile, fc.string()).filter(isSaneId)
const forwardedFor = fc.oneof(
  hostile,
  fc.ipV4(),
  fc.ipV6(),
  fc.tuple(fc.ipV6(), hostile).map(([ip, zone]) => `${ip}%${zone}`),
)

test('the line of an exchange is JSON, whatever a client sends', () => {
  fc.assert(
    fc.property(id, forwardedFor, fc.float({ noNaN: true, min: 0, max: 1e6 }), (requestId, forwarded, totalMs) => {
      const lines: string[] = []
      const client = clientAddress(peer, forwarded, isTrusted)

      logAccess(pino({ base: null }, { write: (line: string) => lines.push(line) }), {
        requestId,
        client,
        operation: 'market.insights',
        status: 200,
        endpoint: 'http://market.internal:8080',
        attempts: 1,
        totalMs,
        identity: null,
        authMethod: null,
        method: 'GET',
        path: null,
        firstByteMs: totalMs,
        digests: null,
        trace: null,
        cache: null,
        upstreamMs: totalMs / 2,
        bytesIn: 0,
        bytesOut: 1,
        configHash: 'abc',
        failure: null,
      })

      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { requestId, client, upstreamMs: expect.any(Number) },
      ])
      expect(Math.abs(JSON.parse(lines[0] ?? '').gatewayMs - totalMs / 2)).toBeLessThanOrEqual(0.0501)
    }),
    { numRuns: 2000 },
  )
})
