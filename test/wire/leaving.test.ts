import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { dialThrough } from '../helpers/dial-through.ts'
import { bootGateway, type TestGateway } from '../helpers/gateway.ts'
import { rawUpstream } from '../helpers/upstream.ts'
import { call, dial, eventually, pseudoRandomBytes, readToEnd, renderHead } from '../helpers/wire.ts'

const post = '/valuation/score'

/** Returns when the first bytes have come, without changing what else is read. */
const firstBytes = (socket: Socket): Promise<unknown> => once(socket, 'data')

const chunkedHead = renderHead({ method: 'POST', target: post, fields: ['Transfer-Encoding', 'chunked'] })
const longHead = renderHead({ method: 'POST', target: post, fields: ['Content-Length', '10000000'] })
const shortPost = `${renderHead({ method: 'POST', target: post, fields: ['Content-Length', '3'] })}abc`

// Only the test moves the gateway's clock: a leaving client that is noticed while the clock stands still is noticed at
// once.
const stopClock = (): void => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
afterEach(() => void vi.useRealTimers())

describe('a client that leaves cancels the call', () => {
  // The second byte of the response, 125 ms after the first, tells a closed client from a waiting one.
  const withinMs = 125 + 50

  /** Opens an upstream that responds to the beginning of a request with `bytes` and never goes on. */
  const stalling = async (bytes: string) => {
    let isGone = false
    const leave = (): void => {
      isGone = true
    }
    const reached = Promise.withResolvers<void>()
    const upstream = await rawUpstream((socket) => {
      socket.once('data', () => {
        if (bytes !== '') socket.write(bytes)
        reached.resolve()
      })
      socket.on('end', leave).on('close', leave)
    })
    return { upstream, isGone: () => isGone, reached: reached.promise }
  }

  const streaming = 'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nabc'
  const forms: readonly (readonly [string, string, string])[] = [
    ['while a GET waits', renderHead({}), ''],
    ['while a small POST waits', shortPost, ''],
    ['while an upload by length streams', `${longHead}abc`, ''],
    ['while an upload in chunks streams', `${chunkedHead}3\r\nabc\r\n`, ''],
    ['while the response to a GET streams', renderHead({}), streaming],
    ['while the response to a small POST streams', shortPost, streaming],
    ['while upload and response stream', `${chunkedHead}3\r\nabc\r\n`, streaming],
  ]

  // A client that closes sends the same as one that ends its side and waits: only a write to it shows which. So its
  // leaving is noticed at once until the head of the response is out, and then with the next piece.
  const departures = forms.flatMap((form) =>
    (form[2] === '' || form[0].includes('upload')
      ? (['destroy', 'resetAndDestroy'] as const)
      : (['resetAndDestroy'] as const)
    ).map((leave) => [leave, ...form] as const),
  )

  test.each(departures)('(%s) %s', async (leave, name, request, response) => {
    stopClock()
    const { upstream, isGone, reached } = await stalling(response)
    const booted = await bootGateway({ upstream: upstream.url })
    const client = await dial(booted.port)

    client.write(request, 'latin1')
    await (response === '' ? reached : firstBytes(client))
    client[leave]()
    let passedMs = 0
    await eventually(() => {
      if (isGone() || leave === 'resetAndDestroy') return isGone()
      vi.advanceTimersByTime(1)
      passedMs++
      return false
    })

    expect(passedMs).toBeLessThan(withinMs)
    const line = await booted.line(({ failure }) => failure !== undefined)
    // A request that ends within its body is malformed too (RFC 9112 §8).
    const cutShort = leave === 'destroy' && name.includes('upload')
    expect(line).toMatchObject({ failure: cutShort ? 'bad-request' : 'client-gone', fault: 'client' })
  })

  test('a client that has closed cancels the call with the next piece of a streaming response', async () => {
    const gone = Promise.withResolvers<void>()
    const { port, line } = await dialThrough((socket) => {
      socket.write(streaming)
      const drip = setInterval(() => socket.write('d'), 5)
      socket.on('close', () => {
        clearInterval(drip)
        gone.resolve()
      })
    })
    const client = await dial(port)
    client.write(renderHead({}))
    await firstBytes(client)

    client.destroy()
    await gone.promise

    expect(await line(({ failure }) => failure !== undefined)).toMatchObject({ failure: 'client-gone' })
  })

  test('a client that leaves while it does not read a large response cancels the call', async () => {
    stopClock()
    const gone = Promise.withResolvers<void>()
    let turns = 0
    const { port, line } = await dialThrough((socket) => {
      socket.on('close', () => gone.resolve())
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
      const more = (): void => {
        turns = 0
        socket.write(Buffer.alloc(1024 * 1024), (error) => void (error ?? more()))
      }
      more()
    })
    const client = await dial(port)

    client.pause()
    client.write(renderHead({}))
    await eventually(() => ++turns > 1000) // nothing has moved for so long
    client.resetAndDestroy()
    await gone.promise

    expect(await line(({ failure }) => failure !== undefined)).toMatchObject({ failure: 'client-gone' })
  })
})

describe('an upstream that dies within the body resets the connection of the client', () => {
  const part = 'x'.repeat(1000)
  const byLength = `HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n${part}`
  const inChunks = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n${part}\r\n`
  const toTheEnd = `HTTP/1.0 200 OK\r\n\r\n${part}`
  const deaths = {
    closes: (socket: Socket) => void socket.end(),
    resets: (socket: Socket) => void socket.resetAndDestroy(),
  }

  const dying: readonly (readonly [string, keyof typeof deaths, string])[] = [
    ['by length', 'closes', byLength],
    ['by length', 'resets', byLength],
    ['in chunks', 'closes', inChunks],
    // Such a body ends with a clean close; only a reset shows that it did not end.
    ['to the end', 'resets', toTheEnd],
  ]

  const dyings = dying.map((each, n) => [(['1.1', '1.0'] as const)[n % 2] ?? '1.1', ...each] as const)

  test.each(dyings)('(to an HTTP/%s client, a body %s, it %s)', async (version, _, death, bytes) => {
    let upstreamSide: Socket | undefined
    const { port, line } = await dialThrough((socket) => {
      upstreamSide = socket
      socket.write(bytes)
    })
    const client = await dial(port)
    const response = readToEnd(client)

    client.write(renderHead({ version }))
    let got = 0
    await new Promise<void>((resolve) =>
      client.on('data', (chunk: Buffer) => {
        got += chunk.length
        if (chunk.includes('xxx') && got > 1000) resolve()
      }),
    )
    deaths[death](upstreamSide as Socket)
    const { how, body, status } = await response

    expect({ how, status }).toEqual({ how: 'reset', status: 200 })
    expect(body.toString()).toBe(part)
    const logged = await line(({ failure }) => failure !== undefined)
    expect(logged).toMatchObject({ failure: 'truncated', fault: 'upstream' })
  })

  test.each(dying)('even with the head still on its way (a body %s, it %s)', async (_, death, bytes) => {
    const { port } = await dialThrough((socket) => void socket.write(bytes, () => deaths[death](socket)))
    const client = await dial(port)

    client.write(renderHead({ version: '1.0' }))
    const response = await readToEnd(client).catch(() => null)

    // The head may have gone out or not, or been an error: but a part never looks whole.
    if (response !== null && response.status === 200) expect(response.how).toBe('reset')
    else expect(response?.status ?? 502).toBe(502)
  })
})

describe('with a pool of eight, many clients that leave', () => {
  const rounds = 48
  const slow = { target: '/market/insights?slow' }

  /** Boots a gateway whose upstream responds to `?quick` at once, and to other requests by `onOther`. */
  const boot = async (onOther: (socket: Socket, isUpload: boolean) => void) => {
    const upstream = await rawUpstream((socket) => {
      let text = ''
      socket.on('end', () => socket.end())
      socket.on('data', (chunk: Buffer) => {
        if (text.length < 1000) text += chunk.toString('latin1')
        if (!/\r\n\r\n/.test(text)) return
        if (/\?quick/.test(text)) {
          text = ''
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        } else if (/\?slow/.test(text)) {
          onOther(socket, text.startsWith('POST'))
          text = 'begun'
        }
      })
    })
    return { ...(await bootGateway({ upstream: upstream.url, defaults: { maxConnections: 8 } })), upstream }
  }

  /** Has clients leave, 24 at once. */
  const haveLeave = async (
    { port }: Pick<TestGateway, 'port'>,
    leave: (client: Socket, n: number) => Promise<void>,
  ): Promise<void> => {
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < rounds) {
        const n = next++
        await leave(await dial(port), n)
      }
    }
    await Promise.all(Array.from({ length: 24 }, worker))
  }

  const expectServed = async (port: number): Promise<void> => {
    const startedAt = performance.now()
    const asked = [
      { target: '/market/insights?quick' },
      { method: 'POST', target: `${post}?quick`, body: Buffer.from('x') },
    ]

    const responses = await Promise.all(Array.from({ length: 16 }, (_, i) => call(port, asked[i % 2])))

    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
    expect(performance.now() - startedAt).toBeLessThan(8000) // below every timeout of the gateway's
  }

  test('many clients that leave during a response or an upload leave nothing behind', async () => {
    const booted = await boot((socket, isUpload) => {
      if (isUpload) return
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n')
      socket.write(Buffer.alloc(300_000))
    })
    const body = pseudoRandomBytes(70_000)
    const [byLength, inChunks] = [longHead, chunkedHead].map((head) => head.replace(post, `${post}?slow`))
    /** What clients do before they leave: those that take nothing have the gateway wait for their drain. */
    const begin: readonly ((client: Socket) => unknown)[] = [
      (client) => new Promise((resolve) => client.pause().write(renderHead(slow), resolve)),
      (client) => {
        client.write(renderHead(slow))
        return firstBytes(client)
      },
      (client) => new Promise((resolve) => client.write(`${inChunks}3\r\nabc\r\n`, resolve)),
      (client) => new Promise((resolve) => client.write(Buffer.concat([Buffer.from(`${byLength}`), body]), resolve)),
    ]

    await haveLeave(booted, async (client, n) => {
      await begin[n % 4]?.(client)
      client[n % 3 === 0 ? 'destroy' : 'resetAndDestroy']()
    })

    await expectServed(booted.port)
    await eventually(() => booted.upstream.connections() <= 16)
  })

  test('many clients that leave before their turn leave nothing behind', async () => {
    const held: Socket[] = []
    const booted = await boot((socket) => held.push(socket))
    const share = 6 // what one address may hold of the eight places
    const holders = await Promise.all(Array.from({ length: share }, () => dial(booted.port)))
    for (const holder of holders) holder.write(renderHead(slow))
    await eventually(() => held.length === share)

    await haveLeave(booted, async (client) => {
      client.write(renderHead(slow))
      client.destroy()
    })
    await eventually(() => booted.lines.length === rounds)
    for (const holder of holders) holder.destroy()

    await expectServed(booted.port)
    expect(held.length).toBe(share)
  })
})

test('a client that still sends after its response does not count as idle', async () => {
  const listen = { timeouts: { keepAlive: '100ms', headers: '100ms' } }
  const { port } = await bootGateway({ upstream: 'http://127.0.0.1:1', listen })
  const countRejected = async (): Promise<number> => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.write(renderHead({ method: 'GET', target: '/unknown', fields: ['Connection', 'close'] }))
    return (await readToEnd(socket)).status
  }
  stopClock()
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let lost: Error | null = null
  client.on('error', (error) => {
    lost = error
  })
  const fields = ['Connection', 'keep-alive', 'Content-Length', '10000000']
  client.write(renderHead({ method: 'POST', target: '/unknown', fields }))
  await once(client.resume(), 'end')

  // Connections between two requests end after 2.2 s, those of clients that send nothing after 5.
  vi.advanceTimersByTime(4_000)
  for (let i = 0; i < 3; i++) {
    client.write('x')
    await countRejected() // by then, all writes of the gateway have arrived
  }

  expect(lost).toBe(null)
  client.destroy()
})
