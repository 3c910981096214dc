import type { LookupFunction, Socket } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { preferredLookup } from '../../../../src/core/upstream/endpoints/dns.ts'
import { createConnector, reusableMs } from '../../../../src/core/upstream/http1/connector.ts'
import { expectExact } from '../../../helpers/exact-wait.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { openFullBacklog } from '../../../helpers/misbehaving-upstream.ts'
import { rawUpstream } from '../../../helpers/upstream.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const { tls } = upstreamConfig('http://unused.invalid')

const opened: Socket[] = []
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy()
})

/** Connects, and resolves to the outcome. */
const connectTo = (origin: string, timeoutMs: number | null, lookup?: LookupFunction) =>
  new Promise<{ error: GatewayError | null; socket: Socket | null }>((resolve) => {
    createConnector(origin, tls, timeoutMs)(lookup)((error, socket) => {
      if (socket !== null) opened.push(socket)
      resolve({ error, socket })
    })
  })

/** Stops the clock, until the test moves it or has finished. */
const stopClock = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('a connection', () => {
  test('outlives the limit on making it', async () => {
    const { url } = await rawUpstream(() => {})
    stopClock()

    const { error, socket } = await connectTo(url, 30)
    vi.advanceTimersByTime(60_000)

    expect([error, socket?.destroyed]).toEqual([null, false])
  })

  test('that is refused is connect-failed, at once', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    stopClock()

    const { error } = await connectTo(url, 5000)

    expect(error).toMatchObject({ kind: 'connect-failed', reason: 'refused', cause: { code: 'ECONNREFUSED' } })
  })

  test('that is reset within the TLS handshake is tls-failed', async () => {
    const { port } = await rawUpstream((socket) => socket.once('data', () => socket.resetAndDestroy()))

    const { error } = await connectTo(`https://127.0.0.1:${port}`, 5000)

    expect(error).toMatchObject({ kind: 'tls-failed', reason: 'reset' })
  })
})

describe('the connect timeout', () => {
  const timeoutMs = 300

  /** Holds that a connection fails with this reason when its limit is over, and not before. */
  const expectTimeout = (reason: string, origin: string): Promise<void> =>
    expectExact(timeoutMs, async () => {
      const after = performance.now()
      const { error } = await connectTo(origin, timeoutMs)
      expect(error).toMatchObject({ kind: 'connect-timeout', reason })
      return { after, before: after, over: performance.now() }
    })

  test('fires in its time during a TLS handshake, never early', async () => {
    const { port, connections } = await rawUpstream((socket) => socket.resume().on('end', () => socket.end()))

    await expectTimeout('no-tls-in-time', `https://127.0.0.1:${port}`)

    await expect.poll(connections).toBe(0)
  })

  test('fires in its time when no process accepts, never early', async () => {
    const deaf = await openFullBacklog()
    onTestFinished(() => deaf.close())

    await expectTimeout('not-connected-in-time', `http://127.0.0.1:${deaf.port}`)
  })

  const address = { address: '127.0.0.1', family: 4 }

  test.each<[string, string, LookupFunction]>([
    ['that does not resolve', 'name-server-silent', () => {}],
    ['whose addresses are known', 'not-connected-in-time', preferredLookup(address, [address])],
  ])('for a name %s is %s', async (_, reason, lookup) => {
    const { port } = await rawUpstream(() => {})
    stopClock()

    const connecting = connectTo(`http://name.test:${port}`, 300, lookup)
    vi.advanceTimersByTime(300)

    expect((await connecting).error).toMatchObject({ kind: 'connect-timeout', reason })
  })

  test('is none when it is turned off', async () => {
    const { port } = await rawUpstream((socket) =>
      socket.once('data', () => setImmediate(() => socket.resetAndDestroy())),
    )

    const { error } = await connectTo(`https://127.0.0.1:${port}`, null)

    expect(error).toMatchObject({ kind: 'tls-failed', reason: 'reset' })
  })
})

test.each([
  [400, 300],
  [1500, 1125],
  [2000, 1500],
  [5000, 4500],
  [75_000, 74_500],
  [0, 0],
])('of %i ms a connection is used for %i', (closedAfter, used) => {
  expect(reusableMs(closedAfter)).toBe(used)
})
