/** Clients that repeat themselves, and an upstream that counts what it has processed of each key. */
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { httpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'
import { fieldValues, parseWireResponse, renderHead, type WireResponse } from '../../../helpers/wire.ts'

/** A generator of numbers below 1 that gives the same ones for the same seed. */
export const seededRandom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** What was processed. */
export interface CountingUpstream {
  readonly upstream: TestUpstream
  /** When each key was processed, in milliseconds since the epoch. */
  readonly processed: ReadonlyMap<string, readonly number[]>
}

/**
 * Opens an upstream that processes nearly all that it gets, and then responds, fails, breaks off, or says nothing. A
 * body says its key.
 */
export const openCountingUpstream = async (random: () => number): Promise<CountingUpstream> => {
  const processed = new Map<string, number[]>()
  const upstream = await httpUpstream(({ body }, response) => {
    const [key = ''] = body.toString().split(' ')
    const kind = random()
    if (kind < 0.05) return void response.writeHead(429).end('not now')
    const times = [...(processed.get(key) ?? []), Date.now()]
    const nth = times.length
    processed.set(key, times)
    if (kind < 0.1) return void response.socket?.destroy()
    if (kind < 0.13) return
    const status = kind < 0.2 ? 500 : kind < 0.3 ? 404 : 201
    setTimeout(() => response.writeHead(status, { 'X-Nth': String(nth) }).end(`${key} ${nth}`), random() * 300)
  })
  return { upstream, processed }
}

// Longer than the deadline of a request, on a slow machine too.
const patienceMs = 10_000

/** What clients were told, by status and code. */
export type Tally = Record<string, number>

/**
 * Sends requests, each with a new key or one of the last, to one of the ports, until it is stopped. Its client leaves
 * after some time. Counts in `tally`, and notes each replay that is not what was processed.
 */
export const fire = async (
  ports: readonly number[],
  random: () => number,
  isOver: () => boolean,
  tally: Tally,
): Promise<{ readonly keys: number; readonly wrong: readonly string[] }> => {
  const keys: string[] = []
  const wrong: string[] = []
  const told = new Map<string, string>()
  const count = (what: string): void => {
    tally[what] = (tally[what] ?? 0) + 1
  }
  const shoot = async (): Promise<void> => {
    while (!isOver()) {
      const back = Math.floor(random() * 40)
      const known = random() < 0.7 ? keys.at(-1 - back) : undefined
      const key = known ?? `k-${keys.length}`
      if (known === undefined) keys.push(key)
      const body = random() < 0.05 ? `${key} other` : `${key} first`
      const port = ports[Math.floor(random() * ports.length)] as number
      const response = await send(port, key, body, random() < 0.1 ? random() * 200 : patienceMs)
      if (response === null) count('left or cut off')
      else {
        const text = response.body.toString()
        const isReplayed = fieldValues(response.fields, 'idempotency-replayed').length > 0
        const isProblem = fieldValues(response.fields, 'content-type').includes('application/problem+json')
        count(`${response.status}${isProblem ? ` ${JSON.parse(text).code}` : ''}${isReplayed ? ' replayed' : ''}`)
        const first = told.get(key)
        if (isReplayed && (text.split(' ')[0] !== key || (first !== undefined && first !== text)))
          wrong.push(`${key}: ${text} after ${first}`)
        if (!isProblem && (response.status === 201 || response.status === 404)) told.set(key, text)
      }
      await pause(random() * 30)
    }
  }
  await Promise.all(Array.from({ length: 24 }, shoot))
  return { keys: keys.length, wrong }
}

/** Sends a POST; null: its client has left before the end, or it was cut off. */
const send = (port: number, key: string, text: string, patienceMs: number): Promise<WireResponse | null> =>
  new Promise((resolve) => {
    const body = Buffer.from(text)
    const fields = ['Idempotency-Key', key]
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const chunks: Buffer[] = []
    const patience = setTimeout(() => socket.destroy(), patienceMs)
    socket.on('connect', () =>
      socket.write(renderHead({ method: 'POST', target: '/financing/pre-approval', fields, body }) + text),
    )
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(patience)
      try {
        const response = parseWireResponse(Buffer.concat(chunks))
        resolve(response.whole ? response : null)
      } catch {
        resolve(null)
      }
    })
  })
