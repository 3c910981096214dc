import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import type { GatewayError } from '../../../src/failures/errors.ts'
import { createConnector } from '../../../src/upstream/http1/connector.ts'
import { freePort } from '../../helpers/free-port.ts'
import { rawUpstream } from '../../helpers/upstream.ts'
import { upstreamConfig } from '../../helpers/upstream-config.ts'

const { tls } = upstreamConfig('http://unused.invalid')

interface Outcome {
  readonly error: GatewayError | null
  readonly socket: Socket | null
  readonly tookMs: number
}

const opened: Socket[] = []
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy()
})

/** Connects, and resolves to the outcome and how long it took. */
const connectTimed = (port: number, timeoutMs: number | null, protocol = 'http:', hostname = '127.0.0.1') =>
  new Promise<Outcome>((resolve) => {
    const startedAt = performance.now()
    createConnector(`${protocol}//${hostname}:${port}`, { timeoutMs, tls })()((error, socket) => {
      if (socket !== null) opened.push(socket)
      resolve({
        error,
        socket,
        tookMs: performance.now() - startedAt,
      })
    })
  })

describe('a connection', () => {
  test('is passed on when it is made', async () => {
    const { port } = await rawUpstream(() => {})

    const { error, socket } = await connectTimed(port, 1000)

    expect(error).toBeNull()
    expect(socket?.remotePort).toBe(port)
  })

  test('outlives the limit on making it', async () => {
    const { port } = await rawUpstream(() => {})

    const { socket } = await connectTimed(port, 30)
    await new Promise((resolve) => setTimeout(resolve, 80)) // the time itself is the fact

    expect(socket?.destroyed).toBe(false)
  })

  test('that is refused is connect-failed, at once', async () => {
    const { error, tookMs } = await connectTimed(await freePort(), 5000)

    expect(error).toMatchObject({ kind: 'connect-failed', reason: 'refused', cause: { code: 'ECONNREFUSED' } })
    expect(tookMs).toBeLessThan(2500)
  })

  test('to a name that does not exist is connect-failed', async () => {
    const { error } = await connectTimed(80, 20_000, 'http:', 'nowhere.invalid')

    expect(error).toMatchObject({ kind: 'connect-failed', reason: expect.stringMatching(/^name-/) })
  })

  test('that is reset within the TLS handshake is tls-failed', async () => {
    const { port } = await rawUpstream((socket) => socket.once('data', () => socket.resetAndDestroy()))

    const { error } = await connectTimed(port, 5000, 'https:')

    expect(error).toMatchObject({ kind: 'tls-failed', reason: 'reset' })
  })
})

describe('the connect timeout', () => {
  /**
   * Opens a listener whose queue is full: its process is stopped, so that the kernel lets a further connection wait for
   * ever.
   */
  const fullListener = async (): Promise<number> => {
    const script = `require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
      process.stdout.write(String(this.address().port))
    })`
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [text] = (await once(child.stdout, 'data')) as [Buffer]
    const port = Number(text.toString())
    child.kill('SIGSTOP')
    // More than the queue holds: when one of them has waited for a moment, it is full.
    for (;;) {
      const { socket, error } = await connectTimed(port, 200)
      if (socket === null) return error?.kind === 'connect-timeout' ? port : 0
    }
  }

  const limits = [120, 300]

  test.each(limits)(
    'of %i ms fires in its time during a TLS handshake, never early',
    { retry: 2 },
    async (timeoutMs) => {
      const { port, connections } = await rawUpstream((socket) => socket.resume().on('end', () => socket.end()))

      const { error, tookMs } = await connectTimed(port, timeoutMs, 'https:')

      expect(error).toMatchObject({ kind: 'connect-timeout', reason: 'no-tls-in-time' })
      expect(tookMs).toBeGreaterThanOrEqual(timeoutMs)
      expect(tookMs).toBeLessThan(timeoutMs + 250)
      await expect.poll(connections).toBe(0)
    },
  )

  test.each(limits)(
    'of %i ms fires in its time when no process accepts, never early',
    { retry: 2 },
    async (timeoutMs) => {
      const port = await fullListener()

      const { error, tookMs } = await connectTimed(port, timeoutMs)

      expect(error).toMatchObject({ kind: 'connect-timeout', reason: 'not-connected-in-time' })
      expect(tookMs).toBeGreaterThanOrEqual(timeoutMs)
      expect(tookMs).toBeLessThan(timeoutMs + 250)
    },
  )

  test('is none when it is turned off', async () => {
    let reset = () => {}
    const { port } = await rawUpstream((socket) => {
      reset = () => socket.resetAndDestroy()
      socket.once('data', () => setImmediate(reset))
    })

    const { error } = await connectTimed(port, null, 'https:')

    expect(error).toMatchObject({ kind: 'tls-failed', reason: 'reset' })
  })
})
