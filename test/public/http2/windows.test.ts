import { EventEmitter } from 'node:events'
import type { ServerHttp2Session } from 'node:http2'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  connectionBytes,
  mostWide,
  narrowBytes,
  ReceiveWindows,
  WideConnections,
  wideBytes,
} from '../../../src/public/http2/windows.ts'

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
  const windows = new ReceiveWindows(session as unknown as ServerHttp2Session, wideConnections)
  return {
    windows,
    /** What SETTINGS said, in order. */
    sent,
    widen: () => windows.body().took(narrowBytes),
    /** What the connection may send. */
    window: () => window,
    isWide: () => sent.at(-1)?.bytes === wideBytes,
    close: () => {
      session.destroyed = true
      session.emit('close')
    },
  }
}

test('streams become wide with the first whole window that a body took, and not with what many took together', () => {
  const { windows, sent } = open()
  for (let i = 0; i < 100; i++) windows.body().took(narrowBytes - 1)
  const before = sent.length

  const body = windows.body()
  body.took(narrowBytes - 1)
  body.took(1)

  expect(before).toBe(0)
  expect(sent.map(({ bytes }) => bytes)).toEqual([wideBytes])
})

test('streams stay narrow for a body that keeps having to wait for its upstream', () => {
  const { windows, sent } = open()
  const body = windows.body()

  for (let i = 0; i < 100; i++) {
    body.took(narrowBytes / 2)
    body.waiting(1)
    body.waiting(0)
  }

  expect(sent).toEqual([])
})

test('a connection has a narrow window left for others when its streams are narrow again, however much waits', () => {
  const { windows, sent, widen, window } = open()
  widen()
  const bodies = [windows.body(), windows.body()]
  for (const body of bodies) body.waiting(wideBytes)
  const before = window()

  sent.at(-1)?.acknowledge()

  expect(sent.map(({ bytes }) => bytes)).toEqual([wideBytes, narrowBytes])
  expect(before).toBe(0)
  expect(window()).toBe(narrowBytes)
})

test('a connection on which nothing waits any more may become wide again', () => {
  const { windows, sent, widen, window } = open()
  widen()
  const bodies = [windows.body(), windows.body()]
  for (const body of bodies) body.waiting(wideBytes)
  sent.at(-1)?.acknowledge()
  widen()
  const meanwhile = sent.length

  for (const body of bodies) body.waiting(0)
  widen()

  expect(meanwhile).toBe(2)
  expect(window()).toBe(connectionBytes)
  expect(sent.map(({ bytes }) => bytes)).toEqual([wideBytes, narrowBytes, wideBytes])
})

test('whatever clients send and however slow they are to obey, no connection has more wait than its window', () => {
  const action = fc.oneof(
    fc.record({
      what: fc.constant('send' as const),
      stream: fc.nat(9),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    fc.record({
      what: fc.constant('take' as const),
      stream: fc.nat(9),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    fc.record({ what: fc.constant('widen' as const) }),
    fc.record({ what: fc.constant('acknowledge' as const) }),
  )

  fc.assert(
    fc.property(fc.array(action, { maxLength: 100, size: 'max' }), (actions) => {
      const { windows, sent, widen, window } = open()
      const streams = Array.from({ length: 10 }, () => ({ body: windows.body(), waiting: 0 }))
      let acknowledged = 0
      widen()
      for (const each of actions) {
        // What the client may send on a stream, going by the most that it has not yet acknowledged to be less.
        const mostBytes = Math.max(
          sent[acknowledged - 1]?.bytes ?? narrowBytes,
          ...sent.slice(acknowledged).map((s) => s.bytes),
        )
        if (each.what === 'widen') widen()
        else if (each.what === 'acknowledge') sent[acknowledged++]?.acknowledge()
        else {
          const stream = streams[each.stream] as (typeof streams)[number]
          if (each.what === 'take') stream.waiting -= Math.floor(stream.waiting * each.part)
          else stream.waiting += Math.floor(Math.max(0, Math.min(window(), mostBytes - stream.waiting)) * each.part)
          stream.body.waiting(stream.waiting)
        }
        const excess = streams.reduce((sum, { waiting }) => sum + Math.max(0, waiting - 2 * narrowBytes), 0)
        expect(excess).toBeLessThanOrEqual(connectionBytes)
      }
    }),
  )
})

describe('of all connections of a process', () => {
  test('so many are wide that 64 MiB can wait, and others stay as they were', () => {
    const all = new WideConnections()
    const connections = Array.from({ length: mostWide + 5 }, () => open(all))

    for (const { widen } of connections) widen()

    expect(connections.filter(({ isWide }) => isWide()).length * connectionBytes).toBeLessThanOrEqual(64 * 1024 * 1024)
    expect(connections.filter(({ isWide }) => isWide()).length).toBe(mostWide)
  })

  test('one that closes makes room, whatever of it is still read', () => {
    const all = new WideConnections()
    const connections = Array.from({ length: mostWide }, () => open(all))
    for (const { widen } of connections) widen()
    const late = open(all)

    connections[3]?.close()
    connections[3]?.widen()
    late.widen()

    expect(late.isWide()).toBe(true)
  })

  test('one that has taken no whole window for 5 s makes room for one that could use it', () => {
    const all = new WideConnections()
    const connections = Array.from({ length: mostWide }, () => open(all))
    for (const { widen } of connections) widen()
    const late = open(all)
    vi.advanceTimersByTime(3000)
    for (const { widen } of connections.slice(1)) widen()
    late.widen()
    const tooEarly = connections.filter(({ isWide }) => !isWide()).length

    vi.advanceTimersByTime(2000)
    late.widen()
    const asked = connections.map(({ isWide }) => isWide())
    connections[0]?.sent.at(-1)?.acknowledge()
    late.widen()

    expect(tooEarly).toBe(0)
    expect(asked.indexOf(false)).toBe(0)
    expect(asked.filter((isWide) => !isWide).length).toBe(1)
    expect(late.isWide()).toBe(true)
  })

  test('one whose client does not acknowledge that it is narrow counts until it closes', () => {
    const all = new WideConnections()
    const connections = Array.from({ length: mostWide }, () => open(all))
    for (const { widen } of connections) widen()
    const late = open(all)
    vi.advanceTimersByTime(5000)

    late.widen()
    late.widen()
    connections[1]?.sent.at(-1)?.acknowledge()
    late.widen()

    expect(connections.slice(0, 3).map(({ isWide }) => isWide())).toEqual([false, false, true])
    expect(late.isWide()).toBe(true)
  })
})
