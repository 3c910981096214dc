/** Load on a gateway that is rerouted between two servers, and a judgment of every response. */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { allOperations } from '../../src/operations.ts'
import type { OnTestEnd } from './editable-file.ts'
import { PipelinedClient } from './pipelined-client.ts'
import { closesConnection, type RawResponse } from './raw-response.ts'

/** What was found out about a load. */
export interface SteadyLoadResult {
  readonly requests: number
  /** Requests that did not get the right response, from either server. */
  readonly failed: readonly string[]
  /** Requests served by a server other than the one that /status had shown when they were sent. */
  readonly misrouted: readonly string[]
}

export interface SteadyLoad {
  /** Says that an edit is about to be written which routes to the other server. Either may respond until it shows. */
  editWritten(): void
  /** Says that /status shows it, and waits for a response that only the new server could give. */
  editShown(): Promise<void>
  stop(): Promise<SteadyLoadResult>
}

/** A request, and what the right response says after the number of the server. */
interface SentRequest {
  readonly bytes: string
  readonly method: string
  readonly echo: string
}

const connections = 4

/** Says otherwise than that four connections are kept for ever. */
interface LoadOptions {
  /** How many more there are that are opened anew for each request. */
  readonly fresh?: number
  /** Whether a response may end its connection. */
  readonly mayEnd?: boolean
}

// The pause between a response and the next request of its connection: steady, and not as much as the machine can do.
const pauseMs = 40

/** Opens one of the two servers and returns its URL: it responds with its number and what it was asked for. */
export const openServer = async (nth: number, onEnd: OnTestEnd): Promise<string> => {
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const hash = createHash('sha256')
    request.on('data', (chunk: Buffer) => hash.update(chunk))
    request.on('end', () => response.end(`${nth} ${request.method} ${request.url} ${hash.digest('hex')}`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(() => server.closeAllConnections())
  onEnd(() => void server.close())
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('latin1')
const withLength = (body: string): string => `Content-Length: ${body.length}\r\n\r\n${body}`
const chunked = (body: string): string =>
  `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

/** Makes one request for each of the nine: GETs, and POSTs with bodies of up to 18 KiB, with a length or chunked. */
const requests: readonly SentRequest[] = allOperations.map(({ method, path }, n) => {
  const head = `${method} ${path}?n=${n} HTTP/1.1\r\nHost: gateway\r\n`
  const body = method === 'GET' ? '' : everyByte.repeat(12 * (n + 1))
  const framed = method === 'GET' ? '\r\n' : n % 2 === 0 ? withLength(body) : chunked(body)
  const digest = createHash('sha256').update(body, 'latin1').digest('hex')
  return { bytes: head + framed, method, echo: ` ${method} ${path}?n=${n} ${digest}` }
})

/**
 * Keeps several connections busy, one request at a time on each. The gateway routes to server 0 at first, then 1, 0, 1,
 * …
 */
export const steadyLoad = (
  port: number,
  onEnd: OnTestEnd,
  { fresh = 0, mayEnd = false }: LoadOptions = {},
): SteadyLoad => {
  const failed: string[] = []
  const misrouted: string[] = []
  let sent = 0
  let edit = { written: 0, shown: 0 }
  let stopped = false
  let notifyJudged = (): void => {}

  const judge = (response: RawResponse | null, asked: SentRequest, shownThen: number): void => {
    const description = `${asked.echo.slice(1, 41)} at edit ${shownThen}`
    if (response === null) return void failed.push(`${description}: the connection ended`)
    const server = Number(response.body[0])
    if (response.status !== 200 || response.body.slice(1) !== asked.echo)
      return void failed.push(`${description}: ${response.status} ${response.body.slice(0, 200)}`)
    if (closesConnection(response) && !mayEnd) failed.push(`${description}: the connection is closed`)
    if (edit.written > shownThen) return
    if (server !== shownThen % 2) misrouted.push(`${description}: by ${server}`)
    notifyJudged()
  }

  const run = async (first: number): Promise<void> => {
    let lane = new PipelinedClient(port)
    for (let n = first; !stopped; n++) {
      const asked = requests[n % requests.length] as SentRequest
      const shownThen = edit.shown
      const onResponse = (response: RawResponse | null): void => judge(response, asked, shownThen)
      sent++
      await lane.send([{ ...asked, onResponse }]).catch((error) => failed.push(`${asked.echo}: ${error}`))
      await pause(pauseMs)
      if (first < connections) continue
      lane.close()
      lane = new PipelinedClient(port)
    }
    lane.close()
  }

  const lanes = Promise.all(Array.from({ length: connections + fresh }, (_, nth) => run(nth)))
  onEnd(() => {
    stopped = true
  })
  return {
    editWritten() {
      edit = { ...edit, written: edit.written + 1 }
    },
    async editShown() {
      edit = { ...edit, shown: edit.written }
      const { shown } = edit
      await new Promise<void>((resolve) => {
        notifyJudged = resolve
      })
      if (edit.shown !== shown) throw new Error('another edit was written meanwhile')
    },
    async stop() {
      stopped = true
      await lanes
      return { requests: sent, failed, misrouted }
    },
  }
}
