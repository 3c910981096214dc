import { EventEmitter } from 'node:events'
import type { ServerHttp2Session } from 'node:http2'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  connectionWindowBytes,
  maxWideConnections,
  narrowWindowBytes,
  WideConnections,
  wideWindowBytes,
} from '../../../../src/core/downstream/http2/wide-connections.ts'
import { NodeReceiveWindows } from '../../../../src/features/http2/node/receive-windows.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** Opens a connection whose client acknowledges SETTINGS when the test says so. */
const open = (wideConnections = new WideConnections()) => {
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
  const windows = new NodeReceiveWindows(session as unknown as ServerHttp2Session, wideConnections)
  return {
    windows,
    /** The sizes of SETTINGS, in order. */
    sent,
    widen: () => windows.createBodyWindow().consumed(narrowWindowBytes),
    /** The bytes that the connection may send. */
    window: () => window,
    isWide: () => sent.at(-1)?.bytes === wideWindowBytes,
    close: () => {
      session.destroyed = true
      session.emit('close')
    },
  }
}

test('streams become wide with the first whole window that a body took, and not with what many took together', () => {
  const { windows, sent } = open()
  for (let i = 0; i < 100; i++) windows.createBodyWindow().consumed(narrowWindowBytes - 1)
  const before = sent.length

  const body = windows.createBodyWindow()
  body.consumed(narrowWindowBytes - 1)
  body.consumed(1)

  expect(before).toBe(0)
  expect(sent.map(({ bytes }) => bytes)).toEqual([wideWindowBytes])
})

test('streams stay narrow for a body that keeps having to wait for its upstream', () => {
  const { windows, sent } = open()
  const body = windows.createBodyWindow()

  for (let i = 0; i < 100; i++) {
    body.consumed(narrowWindowBytes / 2)
    body.setPending(1)
    body.setPending(0)
  }

  expect(sent).toEqual([])
})

test('a connection has a narrow window left for others when its streams are narrow again, and may become wide again once nothing waits', () => {
  const { windows, sent, widen, window } = open()
  const sizes = () => sent.map(({ bytes }) => bytes)
  widen()
  const bodies = [windows.createBodyWindow(), windows.createBodyWindow()]
  for (const body of bodies) body.setPending(wideWindowBytes)
  const whileFull = window()
  sent.at(-1)?.acknowledge()
  const narrowed = window()
  widen()
  const meanwhile = sizes()

  for (const body of bodies) body.setPending(0)
  widen()

  expect([whileFull, narrowed, window()]).toEqual([0, narrowWindowBytes, connectionWindowBytes])
  expect(meanwhile).toEqual([wideWindowBytes, narrowWindowBytes])
  expect(sizes()).toEqual([wideWindowBytes, narrowWindowBytes, wideWindowBytes])
})

test('whatever clients send and however late they acknowledge, no connection has more waiting than its window', () => {
  const action = fc.record({
    kind: fc.constantFrom('send', 'take', 'widen', 'acknowledge'),
    stream: fc.nat(9),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  })

  fc.assert(
    fc.property(fc.array(action, { maxLength: 100, size: 'max' }), (actions) => {
      const { windows, sent, widen, window } = open()
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

describe('of all connections of a process', () => {
  /** Opens as many connections as may be wide, each of which is, and one more. */
  const openAll = () => {
    const all = new WideConnections()
    const connections = Array.from({ length: maxWideConnections }, () => open(all))
    for (const { widen } of connections) widen()
    return { connections, late: open(all) }
  }

  test('so many are wide that 64 MiB can wait, and others stay as they were', () => {
    const { connections, late } = openAll()

    late.widen()

    expect(maxWideConnections * connectionWindowBytes).toBeLessThanOrEqual(64 * 1024 * 1024)
    expect(connections.filter(({ isWide }) => isWide())).toHaveLength(maxWideConnections)
    expect(late.isWide()).toBe(false)
  })

  test('one that closes makes room, whatever of it is still read', () => {
    const { connections, late } = openAll()

    connections[3]?.close()
    connections[3]?.widen()
    late.widen()

    expect(late.isWide()).toBe(true)
  })

  test('one that has taken no whole window for 5 s makes room for one that could use it', () => {
    const { connections, late } = openAll()
    vi.advanceTimersByTime(3000)
    for (const { widen } of connections.slice(1)) widen()
    late.widen()
    const tooEarly = connections.filter(({ isWide }) => !isWide()).length

    vi.advanceTimersByTime(2000)
    late.widen()
    const narrow = connections.flatMap(({ isWide }, i) => (isWide() ? [] : [i]))
    connections[0]?.sent.at(-1)?.acknowledge()
    late.widen()

    expect([tooEarly, narrow, late.isWide()]).toEqual([0, [0], true])
  })

  test('one whose client does not acknowledge that it is narrow counts until it closes', () => {
    const { connections, late } = openAll()
    vi.advanceTimersByTime(5000)

    late.widen()
    late.widen()
    connections[1]?.sent.at(-1)?.acknowledge()
    late.widen()

    expect(connections.slice(0, 3).map(({ isWide }) => isWide())).toEqual([false, false, true])
    expect(late.isWide()).toBe(true)
  })
})
