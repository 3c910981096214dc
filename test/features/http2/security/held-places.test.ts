import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { bootGatewayProcess } from '../../../helpers/gateway-process.ts'
import { bootHttp2, listenHttp2, missing } from '../../../helpers/http2.ts'
import { drill, test } from '../../../helpers/speed.ts'
import { tlsHandshake } from '../../../helpers/tls-client.ts'
import { onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { bareGet, eventually } from '../../../helpers/wire.ts'

// The attack: a group has 256 places at its endpoint. Each pipelined request, and each stream of HTTP/2, keeps a place
// until its response is read. Three connections that read nothing once held all places of a group.
const request = (query: string): string => bareGet(`/market/insights?${query}`)
const other = '127.0.0.9'

/** An upstream that responds to `?other` at once, and begins an endless response to everything else. */
const holdingUpstream = async () => {
  const holding = new Set<Socket>()
  const { url } = await rawUpstream((socket) => {
    socket.on('close', () => holding.delete(socket))
    onRequest(socket, (head) => {
      if (head.includes('?other')) return void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      holding.add(socket)
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 30}\r\n\r\nbeginning`)
    })
  })
  return { url, held: () => holding.size }
}

const bootHolding = async (settings: Settings) => {
  const upstream = await holdingUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, ...settings })
  return { port, held: upstream.held }
}

/** Connects from an address of the loopback. */
const dialFrom = async (port: number, localAddress: string): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  onTestFinished(() => void socket.resetAndDestroy()) // the gateway need not find out whether the client still reads
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return socket.on('error', () => {})
}

/** Opens connections from an address that pipeline ninety-nine requests each, and read nothing. */
const pipelineFrom = async (port: number, localAddress: string, connections: number): Promise<void> => {
  for (let n = 0; n < connections; n++) (await dialFrom(port, localAddress)).write(request('attack').repeat(99))
}

/** Sends a hundred requests of another client, one after another, and returns how long each took, in ms. */
const timeOther = async (socket: Socket): Promise<readonly number[]> => {
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  const times: number[] = []
  while (times.length < 100) {
    const begunAt = performance.now()
    socket.write(request('other'))
    await eventually(() => text.split('\r\n\r\nok').length - 1 > times.length)
    times.push(performance.now() - begunAt)
  }
  return times
}

/** Sends the requests of another client, and returns how many got their response. */
const serveOther = async (socket: Socket): Promise<number> => (await timeOther(socket)).length

// On a slow machine the upstream would seem to stall.
const patient = { defaults: { deadline: 'none', timeouts: { body: 'none' } } }

// The load of docs/design/hostile-clients.md; the other client sends as fast as it can.
const hardened: Settings = { ...patient, listen: { maxConnectionsPerAddress: 100, minRate: '240B/s' } }

test('three clients that pipeline and read nothing hold four places each', async () => {
  const { port, held } = await bootHolding(patient)

  for (const host of [1, 2, 3]) await pipelineFrom(port, `127.0.0.${host}`, 1)
  await eventually(() => held() === 12)

  expect(await serveOther(await dialFrom(port, other))).toBe(100)
  expect(held()).toBe(12)
})

test('three addresses with a hundred connections each leave places to another', async () => {
  const { port, held } = await bootHolding(hardened)

  // Two thirds of 256 places, of the remaining 85, and of the remaining 28.
  for (const [host, places] of [171, 171 + 57, 171 + 57 + 19].entries()) {
    await pipelineFrom(port, `127.0.0.${host + 1}`, 100)
    await eventually(() => held() === places)
  }

  expect(await serveOther(await dialFrom(port, other))).toBe(100)
  expect(held()).toBe(247)
})

/** Opens a connection of HTTP/2 from an address that opens a hundred streams, and takes nothing of their responses. */
const streamFrom = async (port: number, localAddress: string): Promise<void> => {
  const raw = await dialFrom(port, localAddress)
  const { socket } = await tlsHandshake(port, { socket: raw, ALPNProtocols: ['h2'] })
  const options = { createConnection: () => socket, settings: { initialWindowSize: 0 } }
  const session = connectHttp2('https://localhost', options).on('error', () => {})
  onTestFinished(() => void session.destroy())
  for (let n = 0; n < 100; n++) session.request({ ':path': '/market/insights?attack' }).on('error', () => {})
}

test.skipIf(missing !== null).each([
  ['of three addresses', ['127.0.0.1', '127.0.0.2', '127.0.0.3'], [100, 178, 217], other],
  ['behind the address of another client', ['127.0.0.1', '127.0.0.1', '127.0.0.1'], [100, 128, 129], '127.0.0.1'],
] as const)(
  'three connections of HTTP/2 %s, with a hundred streams each, leave it places',
  async (_, addresses, places, from) => {
    const { url, held } = await holdingUpstream()
    const { port } = await bootHttp2({ upstream: url, ...patient })

    for (const [n, address] of addresses.entries()) {
      await streamFrom(port, address)
      await eventually(() => held() === places[n])
    }
    const { socket } = await tlsHandshake(port, { socket: await dialFrom(port, from) })

    expect(await serveOther(socket)).toBe(100)
    expect(held()).toBe(places[2])
  },
)

/** Opens connections from an address that send one request and take a few bytes each second. */
const readSlowlyFrom = async (port: number, localAddress: string, connections: number): Promise<void> => {
  for (let n = 0; n < connections; n++) {
    const socket = await dialFrom(port, localAddress)
    socket.write(request('attack'))
    const sip = setInterval(() => void socket.read(32), 100)
    socket.on('close', () => clearInterval(sip))
  }
}

/** Each with the places that it gets, at least. */
const attacks: readonly (readonly [string, (port: number, from: string) => Promise<void>, number])[] = [
  ['HTTP/1, 99 requests pipelined', (port, from) => pipelineFrom(port, from, 1), 12],
  ['the same on 100 connections of each address', (port, from) => pipelineFrom(port, from, 100), 247],
  ['100 connections of each address that read slowly', (port, from) => readSlowlyFrom(port, from, 100), 200],
  ['HTTP/2, 100 streams', streamFrom, 200],
]

drill.each(attacks)(
  'three clients (%s) have none of a hundred requests of another take a second',
  async (attack, begin, places) => {
    const { url, held } = await holdingUpstream()
    const isHttp2 = begin === streamFrom
    const gateway = await bootGatewayProcess({
      ...hardened,
      upstream: url,
      listen: { ...hardened.listen, ...(isHttp2 && listenHttp2()) },
    })
    gateway.stdout().resume()

    for (const host of [1, 2, 3]) await begin(gateway.port, `127.0.0.${host}`)
    await eventually(() => held() >= places)
    const raw = await dialFrom(gateway.port, other)
    const times = await timeOther(isHttp2 ? (await tlsHandshake(gateway.port, { socket: raw })).socket : raw)

    const sorted = times.toSorted((a, b) => a - b)
    const [median, longest] = [sorted[50], sorted.at(-1)].map((ms) => Math.round(ms ?? Number.NaN))
    console.log(`${attack}: ${held()} places held; median ${median} ms, longest ${longest} ms`)
    // No request fails on an idle machine. Where all places are held, none ever ends.
    expect(times.filter((ms) => ms > 1000).length).toBeLessThan(5)
  },
)
