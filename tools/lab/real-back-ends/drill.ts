import { createHash } from 'node:crypto'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { sleep } from '../../../src/core/lib/clock.ts'
import { groups } from '../../../src/operations.ts'
import { openGateway } from '../../../test/helpers/gateway.ts'
import { pseudoRandomBytes } from '../../../test/helpers/wire.ts'
import { type Running, startServer } from '../../bench/process.ts'
import { node, type Server } from './servers.ts'

/** What became of the requests to one server. */
export interface Tally {
  readonly server: string
  requests: number
  /** No response, or one of the gateway's own. */
  failures: number
  /** A response with other bytes than the server was sent, or gave. */
  mismatches: number
  /** The first thing that was wrong. */
  wrong: string
}

interface Got {
  readonly status: number
  /** Status, fields and the hash of the body, as far as both ways have them in common. */
  readonly summary: string
  readonly body: Buffer
  readonly etag: string
}

const idleSeconds = 1
const lanes = 8
const perRound = 100
const sizes = [0, 1, 150, 8192, 8193, 65_536, 65_537, 1 << 20]
const bodies = sizes.map(pseudoRandomBytes)
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const compared = ['content-type', 'content-encoding', 'content-range', 'etag', 'last-modified', 'vary']

/** Asks, and reads the whole response. */
const ask = (
  port: number,
  agent: Agent,
  target: string,
  fields: Readonly<Record<string, string>>,
  body: Buffer | null = null,
): Promise<Got> =>
  new Promise((resolve, reject) => {
    const options = { agent, host: '127.0.0.1', port, path: target, method: body === null ? 'GET' : 'POST' }
    const sent = request({ ...options, headers: fields })
    sent.once('error', reject)
    sent.once('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', reject)
      response.once('end', () => {
        const { statusCode: status = 0, headers } = response
        const bytes = Buffer.concat(chunks)
        const shown = compared.map((name) => `${name}: ${headers[name] ?? ''}`)
        resolve({
          status,
          summary: [status, ...shown, sha256(bytes)].join('\n'),
          body: bytes,
          etag: headers.etag ?? '',
        })
      })
    })
    // In three pieces, so that a body that streams does not come at once.
    if (body !== null && body.length > 2)
      for (let n = 0; n < 2; n++) sent.write(body.subarray((n * body.length) / 3, ((n + 1) * body.length) / 3))
    sent.end(body !== null && body.length > 2 ? body.subarray((2 * body.length) / 3) : (body ?? undefined))
  })

interface Variant {
  readonly target: string
  readonly fields: Readonly<Record<string, string>>
}

const files = { 'empty.txt': 0, 'small.txt': 150, 'middle.txt': 65_536, 'large.txt': 1 << 20 }

/** Lists what is asked by GET. */
const variantsOf = (server: Server, etag: string): readonly Variant[] => [
  ...[0, 150, 65_536, 1 << 20].flatMap((bytes) =>
    ['', '&plain'].map((plain) => ({ target: `/market/insights?bytes=${bytes}${plain}`, fields: {} })),
  ),
  ...(server.files ? [...Object.keys(files), 'missing.txt'] : []).flatMap((name) =>
    [{}, { 'Accept-Encoding': 'gzip' }, { Range: 'bytes=10-99' }, { 'If-None-Match': etag }].map((fields) => ({
      target: `/market/insights?file=${name}`,
      fields,
    })),
  ),
]

/** What is sent to a server. */
export interface Plan {
  readonly requests: number
  /** How much longer each pause is than the server keeps what is idle, in milliseconds. */
  readonly pauseMs: (round: number) => number
  /** Where servers keep their files. */
  readonly parent: string
}

/** Sends requests to a server through a gateway, with a pause after each hundred. `path` is its program. */
export const drill = async (server: Server, path: string, plan: Plan): Promise<Tally> => {
  const tally: Tally = { server: server.name, requests: 0, failures: 0, mismatches: 0, wrong: '' }
  const stops: (() => Promise<unknown>)[] = []
  try {
    const { port } = await startServerOf(server, path, plan.parent, idleSeconds, stops)
    const { gateway, port: ownPort } = await openGateway({
      upstreams: Object.fromEntries(groups.map((group) => [group, `http://127.0.0.1:${port}`])),
      shutdown: { wait: '0s' },
      defaults: { keepAlive: '60s' },
    })
    stops.push(() => gateway.close())
    await load(server, tally, plan, port, ownPort)
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
  return tally
}

/** Starts a server in a folder of its own, with what stands behind it. `stops` gets what ends them. */
export const startServerOf = async (
  server: Server,
  path: string,
  parent: string,
  idleSeconds: number,
  stops: (() => Promise<unknown>)[],
): Promise<Running> => {
  const directory = join(parent, server.name.replaceAll(/\W/g, '-'))
  const served = join(directory, 'files')
  const echoing = join(directory, 'echo')
  for (const each of [directory, served, echoing]) await mkdir(each)
  for (const each of [parent, directory, served]) await chmod(each, 0o755)
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(served, name), pseudoRandomBytes(bytes))
  const run = async (where: string, command: Parameters<typeof startServer>[2]): Promise<Running> => {
    const running = await startServer(where, '/', command)
    stops.push(running.stop)
    return running
  }
  const behind = (port: number) => node({ path: process.execPath, directory: echoing, port, idleSeconds: 60 })
  const echo = server.passesOn ? (await run(echoing, behind)).port : 0
  const place = { path, directory, idleSeconds, files: served, echo }
  return run(directory, (port) => server.command({ ...place, port }))
}

const load = async (
  server: Server,
  tally: Tally,
  { requests, pauseMs }: Plan,
  direct: number,
  port: number,
): Promise<void> => {
  const alone = new Agent({ keepAlive: false })
  const agent = new Agent({ keepAlive: true, maxSockets: lanes })
  const { etag } = await ask(direct, alone, '/market/insights?file=small.txt', {})
  const variants = variantsOf(server, etag)
  const expected: string[] = []
  for (const { target, fields } of variants) expected.push((await ask(direct, alone, target, fields)).summary)

  const note = (what: 'failures' | 'mismatches', why: string): void => {
    tally[what]++
    if (tally.wrong === '') tally.wrong = why
  }
  const get = async (nth: number): Promise<void> => {
    const { target, fields } = variants[nth % variants.length] as Variant
    const got = await ask(port, agent, target, fields)
    if (got.summary === expected[nth % variants.length]) return
    const isOfGateway = got.body.includes('"requestId"')
    note(isOfGateway ? 'failures' : 'mismatches', `GET ${target} ${JSON.stringify(fields)}: ${got.summary}`)
  }
  const post = async (nth: number): Promise<void> => {
    const body = bodies[nth % bodies.length] as Buffer
    const target = `/valuation/score?n=${nth}&a=%2F`
    const isChunked = (nth >> 3) % 2 === 1
    const fields = {
      'X-Probe': `probe-${nth}`,
      ...(isChunked ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': String(body.length) }),
    }
    const got = await ask(port, agent, target, fields, body)
    const wanted = `POST ${target} ${body.length} ${sha256(body)} probe-${nth}`
    if (got.status === 200 && got.body.toString() === wanted) return
    note(
      got.status === 200 ? 'mismatches' : 'failures',
      `${wanted}: ${got.status} ${got.body.toString().slice(0, 300)}`,
    )
  }

  for (let from = 0, round = 0; from < requests; from += perRound, round++) {
    const to = Math.min(from + perRound, requests)
    let next = from
    const lane = async (): Promise<void> => {
      while (next < to) {
        const nth = next++
        tally.requests++
        await (nth % 2 === 0 ? get(nth >> 1) : post(nth >> 1)).catch((error) => note('failures', String(error)))
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    if (to < requests) await sleep(idleSeconds * 1000 + pauseMs(round))
  }
  agent.destroy()
}
