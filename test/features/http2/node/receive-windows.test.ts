import { EventEmitter } from 'node:events'
import type { ServerHttp2Session } from 'node:http2'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  connectionWindowBytes,
  narrowWindowBytes,
  WideConnections,
} from '../../../../src/core/downstream/http2/wide-connections.ts'
import { NodeReceiveWindows } from '../../../../src/features/http2/node/receive-windows.ts'

/** Opens a connection whose client acknowledges SETTINGS when the test says so. */
const openSession = () => {
  const sent: { bytes: number; acknowledge: () => void }[] = []
  let window = 0
  const session = Object.assign(new EventEmitter(), {
    destroyed: false,
    setLocalWindowSize(bytes: number) {
      window = bytes
    },
    settings({ initialWindowSize }: { initialWindowSize: number }, acknowledged?: (error: null) => void) {
      sent.push({ bytes: initialWindowSize, acknowledge: () => acknowledged?.(null) })
    },
  })
  const windows = new NodeReceiveWindows(session as unknown as ServerHttp2Session, new WideConnections())
  return {
    windows,
    /** The sizes of SETTINGS, in order. */
    sent,
    widen: () => windows.createBodyWindow().consumed(narrowWindowBytes),
    /** The bytes that the connection may send. */
    window: () => window,
  }
}

test('whatever clients send and however late they acknowledge, no connection has more waiting than its window', () => {
  const action = fc.record({
    kind: fc.constantFrom('send', 'take', 'widen', 'acknowledge'),
    stream: fc.nat(9),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  })

  fc.assert(
    fc.property(fc.array(action, { maxLength: 100, size: 'max' }), (actions) => {
      const { windows, sent, widen, window } = openSession()
      const streams = Array.from({ length: 10 }, () => ({ body: windows.createBodyWindow(), waiting: 0 }))
      let acknowledged = 0
      widen()
      for (const each of actions) {
        // The bytes that the client may send on a stream, by the largest size whose reduction it has not yet
        // acknowledged.
        const maxBytes = Math.max(
          sent[acknowledged - 1]?.bytes ?? narrowWindowBytes,
          ...sent.slice(acknowledged).map((s) => s.bytes),
        )
        if (each.kind === 'widen') widen()
        else if (each.kind === 'acknowledge') sent[acknowledged++]?.acknowledge()
        else {
          const stream = streams[each.stream] as (typeof streams)[number]
          if (each.kind === 'take') stream.waiting -= Math.floor(stream.waiting * each.part)
          else stream.waiting += Math.floor(Math.max(0, Math.min(window(), maxBytes - stream.waiting)) * each.part)
          stream.body.setPending(stream.waiting)
        }
        const excess = streams.reduce((sum, { waiting }) => sum + Math.max(0, waiting - 2 * narrowWindowBytes), 0)
        expect(excess).toBeLessThanOrEqual(connectionWindowBytes)
      }
    }),
  )
})
