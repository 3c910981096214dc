/** Candidates that do badly in many ways, under load, and what the guard does with them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { sleep } from '../../../../src/core/lib/clock.ts'
import { keyedClients, keyOf } from '../../../helpers/candidate.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'

/** How an upstream responds to a request. */
export type Responding = (request: IncomingMessage, response: ServerResponse) => void

const sendJson = (response: ServerResponse, status: number): void => {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end('{"grade":"A"}')
}

let count = 0

/** Ways to respond, by name. */
export const respondings = {
  well: (_, response) => sendJson(response, 200),
  'with 500': (_, response) => sendJson(response, 500),
  'with 404, fast': (_, response) => sendJson(response, 404),
  'after a second': (_, response) => void setTimeout(() => sendJson(response, 200), 1000),
  never: () => {},
  'with a reset': ({ socket }) => void socket.resetAndDestroy(),
  'with HTML': (_, response) => void response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>grade A</h1>'),
  'with 5 % of 500s': (_, response) => sendJson(response, ++count % 20 === 0 ? 500 : 200),
  'with a body that drips': (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"grade":')
    const drip = setInterval(() => response.write(' '), 20)
    setTimeout(() => {
      clearInterval(drip)
      response.end('"A"}')
    }, 400)
  },
  'with half a body': (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 1000 }).write('{"grade":')
    setImmediate(() => response.socket?.resetAndDestroy())
  },
  'with a megabyte': (_, response) => void response.writeHead(200).end(Buffer.alloc(1024 ** 2, ' ')),
} as const satisfies Readonly<Record<string, Responding>>

/** Opens an upstream that keeps nothing of what it is asked. Returns its URL. */
export const openResponding = async (responding: Responding): Promise<string> => {
  const server = createServer((request, response) => {
    request.resume()
    responding(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What became of a candidate under load. */
interface GuardOutcome {
  /** After so many milliseconds; null: it was not taken back within a window and two seconds. */
  readonly takenBackAfterMs: number | null
  readonly reason: string | null
  /** The requests of all clients meanwhile, and how many of them had no whole response, or one of 400 and above. */
  readonly requests: number
  readonly failed: number
}

const banks = Array.from({ length: 16 }, (_, index) => `bank-${index}`)

// A client that has no response by then goes away, and comes again. No machine is that slow.
const longPatienceMs = 20_000

/** Makes the settings of a candidate that half of sixteen clients are on, guarded with a short window. */
export const guardedSettings = (primary: string, candidate: object, windowMs: number, more: object = {}): Settings => ({
  upstreams: {
    market: {
      endpoints: [primary],
      candidate: { share: '50%', guard: { minRequests: 30, window: `${windowMs}ms` }, ...candidate },
      ...more,
    },
  },
  ...keyedClients(...banks),
})

/** Asks as a client that goes away after so long; false: there was no whole response, or one of 400 and above. */
const askOnce = async (url: string, bank: string, patienceMs: number): Promise<boolean> => {
  const headers = Object.fromEntries([keyOf(bank)])
  try {
    const response = await fetch(`${url}/market/insights`, { headers, signal: AbortSignal.timeout(patienceMs) })
    await response.arrayBuffer()
    return response.status < 400
  } catch {
    return false
  }
}

/** How long a client waits for a response before it goes away, and how long it pauses before it asks again. */
interface Pace {
  readonly patienceMs?: number
  readonly pauseMs?: number
}

/**
 * Has all clients ask, each on two lanes, until `isDone`. Counts what became of it. Their pauses are the pace of a load
 * that leaves the machine to others; nothing waits for them.
 */
export const askUntil = async (
  live: Pick<LiveGateway, 'url'>,
  isDone: () => boolean,
  { patienceMs = longPatienceMs, pauseMs = 100 }: Pace = {},
): Promise<Pick<GuardOutcome, 'requests' | 'failed'>> => {
  let [requests, failed] = [0, 0]
  const lanes = [...banks, ...banks].map(async (bank) => {
    while (!isDone()) {
      requests++
      if (!(await askOnce(live.url, bank, patienceMs))) failed++
      await sleep(pauseMs)
    }
  })
  await Promise.all(lanes)
  return { requests, failed }
}

/** Runs a gateway under load until its candidate is taken back, or a window and two seconds are over. */
export const runGuarded = async (settings: Settings, windowMs: number, pace: Pace = {}): Promise<GuardOutcome> => {
  const live = await bootLiveGateway(settings)
  const startedAt = performance.now()
  const findTakeback = () => live.lines.find(({ msg }) => msg === 'shift taken back')
  let takenBackAfterMs: number | null = null
  const isDone = (): boolean => {
    const passed = performance.now() - startedAt
    if (takenBackAfterMs === null && findTakeback() !== undefined) takenBackAfterMs = Math.round(passed)
    return takenBackAfterMs !== null || passed > windowMs + 2000
  }
  const asked = await askUntil(live, isDone, pace)
  return { takenBackAfterMs, reason: (findTakeback()?.reason as string | undefined) ?? null, ...asked }
}

/** Reads how much of `market` goes to its candidate. */
export const readShift = async ({ admin }: LiveGateway) => {
  const { body } = await fetchAdmin(`${admin}/status`)
  return (body as unknown as { upstreams: { market: { candidate: { shift: { share: number; stopped: boolean } } } } })
    .upstreams.market.candidate.shift
}
