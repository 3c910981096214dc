import { expect, test } from 'vitest'
import { ReceiveWindows } from '../../../../src/core/downstream/http2/receive-windows.ts'
import {
  connectionWindowBytes,
  maxWideConnections,
  narrowWindowBytes,
  WideConnections,
  wideWindowBytes,
} from '../../../../src/core/downstream/http2/wide-connections.ts'

const connect = (wideConnections = new WideConnections()) => {
  const updates: [id: number, bytes: number][] = []
  const windows = new ReceiveWindows(wideConnections, (id, bytes) => updates.push([id, bytes]))
  /** Sums up the window updates of a stream since the last call; 0: the connection. */
  const given = (id: number): number => {
    const all = updates.filter(([of]) => of === id)
    for (const each of all) updates.splice(updates.indexOf(each), 1)
    return all.reduce((sum, [, bytes]) => sum + bytes, 0)
  }
  return { windows, given }
}

test('a connection begins with its whole window, and a stream with 64 KiB', () => {
  const { windows, given } = connect()

  expect(given(0)).toBe(connectionWindowBytes - 65_535)
  expect(windows.streamTarget(0)).toBe(narrowWindowBytes)
})

test('bytes beyond a window are rejected', () => {
  const { windows } = connect()
  const body = windows.createBodyWindow(1)

  expect([body.take(narrowWindowBytes), body.take(1)]).toEqual([true, false])
  expect([windows.take(connectionWindowBytes), windows.take(1)]).toEqual([true, false])
})

test('a body that is read as fast as it comes makes the streams of its connection wide', () => {
  const { windows, given } = connect()
  const body = windows.createBodyWindow(1)

  body.take(narrowWindowBytes)
  body.read(narrowWindowBytes, false)

  expect(given(1)).toBe(wideWindowBytes)
})

test('a body that waits for its reader keeps the streams narrow', () => {
  const { windows, given } = connect()
  const body = windows.createBodyWindow(1)

  for (let n = 0; n < 10; n++) {
    body.take(narrowWindowBytes)
    body.read(narrowWindowBytes, true)
  }

  expect(given(1)).toBe(10 * narrowWindowBytes)
})

test('the waiting bytes of wide streams reduce the window of the connection, and make the streams narrow', () => {
  const { windows, given } = connect()
  const bodies = [1, 3].map((id) => windows.createBodyWindow(id))
  for (const body of bodies) {
    body.take(narrowWindowBytes)
    body.read(narrowWindowBytes, false)
  }
  given(0)

  for (const body of bodies) {
    windows.take(1.4 * 1024 * 1024)
    body.take(1.4 * 1024 * 1024)
    body.settle()
    windows.giveBack()
  }

  // 3 MiB, less what waits beyond the allowances.
  expect(given(0)).toBeLessThan(0.5 * 1024 * 1024)
  expect(windows.streamTarget(0)).toBe(narrowWindowBytes)
})

test('a process has a maximum of wide connections, and a narrowed one gives its place to another', () => {
  const all = new WideConnections()
  const widen = () => {
    const { windows, given } = connect(all)
    const body = windows.createBodyWindow(1)
    body.take(narrowWindowBytes)
    body.read(narrowWindowBytes, false)
    return { windows, body, given }
  }
  const wide = Array.from({ length: maxWideConnections }, widen)

  expect(widen().windows.streamTarget(0)).toBe(narrowWindowBytes)
  wide[0]?.windows.close()
  expect(widen().windows.streamTarget(0)).toBeGreaterThan(narrowWindowBytes)
})

test('streams get no more beyond 64 KiB each than the window of their connection', () => {
  const { windows, given } = connect()
  const ids = [1, 3, 5, 7, 9]

  for (const id of ids) {
    const body = windows.createBodyWindow(id)
    body.take(narrowWindowBytes)
    body.read(narrowWindowBytes, false)
  }

  expect(ids.reduce((sum, id) => sum + given(id) - narrowWindowBytes, 0)).toBe(connectionWindowBytes)
})
