/** Clients of other makes, whose requests must all get the right response. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withTimeout } from '../../../src/core/lib/clock.ts'
import { sha256 } from '../../../test/helpers/wire.ts'
import { type Ask, got, http2Clients, type Task } from '../../lab/http2-clients/clients.ts'
import { type Ongoing, ongoing } from '../traffic.ts'
import { material, mebibyte } from './upstream.ts'

/** A client, and what became of its requests. */
export interface SteadyClient {
  readonly name: string
  readonly ask: Ask
  sent: number
  right: number
  bytes: number
  /** The first few outcomes that were not right. */
  readonly wrong: string[]
}

interface Case {
  readonly method: Task['method']
  readonly count: number
  readonly atOnce: number
  readonly requestBytes: number
  readonly responseBytes: number
}

const sizes = [1, 2, 3].map((mebibytes) => mebibytes * mebibyte)

/** What each client asks in turn. */
const cases: readonly Case[] = sizes.flatMap((bytes): readonly Case[] => [
  { method: 'POST', count: 40, atOnce: 8, requestBytes: 1000, responseBytes: 500 },
  { method: 'POST', count: 2, atOnce: 2, requestBytes: bytes, responseBytes: 500 },
  { method: 'GET', count: 20, atOnce: 4, requestBytes: 0, responseBytes: 20_000 },
  { method: 'GET', count: 2, atOnce: 2, requestBytes: 0, responseBytes: bytes },
])

const pauseMs = 3000
const lateMs = 120_000
const maxShown = 5

/** Starts those that are installed, and says which are not. */
export const startClients = async (onEnd: (end: () => void) => void): Promise<readonly SteadyClient[]> => {
  const started: SteadyClient[] = []
  for (const { name, programs, start } of http2Clients(() => Promise.reject(new Error('a page is opened by a test')))) {
    const missing =
      name === 'Chromium' ? 'its pages are those of a test' : programs.find((each) => each.missing)?.missing
    if (missing === undefined) started.push({ name, ask: await start(onEnd), sent: 0, right: 0, bytes: 0, wrong: [] })
    else console.error(`left out: ${name}, ${missing}`)
  }
  return started
}

/** Writes the bodies into files, and returns where each is. */
export const writeBodies = (onEnd: (end: () => void) => void): ReadonlyMap<number, string> => {
  const folder = mkdtempSync(join(tmpdir(), 'bodies-'))
  onEnd(() => rmSync(folder, { recursive: true }))
  return new Map(
    cases.map(({ requestBytes }) => {
      const file = join(folder, String(requestBytes))
      writeFileSync(file, material.subarray(0, requestBytes))
      return [requestBytes, file]
    }),
  )
}

/** Has every client ask for one thing after the other, each beginning with another. */
export const asking = (
  port: number,
  clients: readonly SteadyClient[],
  bodies: ReadonlyMap<number, string>,
): Ongoing => {
  const turns = clients.map((_, nth) => nth)
  return ongoing(clients.length, pauseMs, async (nth) => {
    const turn = (turns[nth] as number) % cases.length
    turns[nth] = turn + 1
    await askOnce(port, clients[nth] as SteadyClient, cases[turn] as Case, bodies)
  })
}

const askOnce = async (
  port: number,
  client: SteadyClient,
  { method, count, atOnce, requestBytes, responseBytes }: Case,
  bodies: ReadonlyMap<number, string>,
): Promise<void> => {
  const path = method === 'POST' ? '/valuation/score' : '/analysis/esg-grant'
  const file = requestBytes === 0 ? null : (bodies.get(requestBytes) as string)
  const query = `bytes=${responseBytes}&body=${sha256(material.subarray(0, requestBytes))}`
  client.sent += count
  const asked = client.ask({ method, count, atOnce, file, url: `https://127.0.0.1:${port}${path}?${query}` })
  const responded = await withTimeout(asked, lateMs).catch((error) => [String(error)])
  const outcomes = responded ?? [`nothing within ${lateMs} ms`]
  const right = outcomes.filter(got(material.subarray(0, responseBytes))).length
  client.right += Math.min(count, right)
  client.bytes += right * (requestBytes + responseBytes)
  if (right === count && outcomes.length === count) return
  const wrong = outcomes.filter((outcome) => !got(material.subarray(0, responseBytes))(outcome))
  const what = `${client.name}, ${method} of ${requestBytes} for ${responseBytes} bytes`
  if (client.wrong.length < maxShown)
    client.wrong.push(
      `${new Date().toISOString()} ${what}: ${count - right} of ${count}: ${wrong.join(', ').slice(0, 300)}`,
    )
}
