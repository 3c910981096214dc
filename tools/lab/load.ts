/**
 * Steady load on a gateway: lanes that ask again after each response, so that the upstreams set the rate.
 */
import { onTestFinished } from 'vitest'
import type { Group, Operation } from '../../src/operations.ts'
import { PipelinedClient } from '../../test/helpers/pipelined-client.ts'
import { headerValues, type RawResponse } from '../../test/helpers/raw-response.ts'
import { pseudoRandomBytes, sha256 } from '../../test/helpers/wire.ts'
import type { Echo } from './endpoint-behavior.ts'
import { firstOperationOf, newId, summarize } from './lab.ts'

/** What became of one request of a load. */
export interface Result {
  readonly id: string
  readonly method: string
  /**
   * The status, with the code of the gateway's own; `damaged`: 200, but not what was sent; `cut`: the connection ended.
   */
  readonly said: string
  readonly sentAt: number
  readonly ms: number
  readonly retryAfter: string | null
}

export interface Load {
  /** All responses so far, in order. */
  readonly results: readonly Result[]
  /** Waits until so many more have got a response, of all or of those that are wanted, and returns those. */
  next(count: number, wanted?: (result: Result) => boolean): Promise<readonly Result[]>
  /** When the requests were sent that have no response yet. */
  waiting(): readonly number[]
  /** Ends after what is on its way, and returns everything. */
  stop(): Promise<readonly Result[]>
}

interface Wanted {
  readonly groups: readonly Group[]
  /** Requests on their way at once, for each group. */
  readonly lanes: number
  /** No bodies of more bytes; all of them unless. */
  readonly maxBodyBytes?: number
}

/** A body as it is sent, and what its SHA-256 is. */
export interface Body {
  readonly framed: string
  readonly bytes: number
  readonly hash: string
}

const bodyOf = (bytes: number): readonly Body[] => {
  const body = pseudoRandomBytes(bytes)
  const text = body.toString('latin1')
  const byLength = `Content-Length: ${bytes}\r\n\r\n${text}`
  const chunked = `Transfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}\r\n${text}\r\n0\r\n\r\n`
  return (bytes === 0 ? [byLength] : [byLength, chunked]).map((framed) => ({ framed, bytes, hash: sha256(body) }))
}

/** Bodies that the gateway reads first (with a length, and not large) and bodies that stream through it. */
export const allBodies: readonly Body[] = [0, 700, 9000, 100_000].flatMap(bodyOf)

/** Writes a request; a GET goes without the body. */
export const requestBytes = ({ method, path }: Operation, id: string, body: Body): string => {
  const head = `${method} ${path} HTTP/1.1\r\nHost: gateway\r\nX-Lab-Id: ${id}\r\n`
  return head + (method === 'GET' ? '\r\n' : body.framed)
}

/** Says what came back: a response of an endpoint is only good when all of the request has reached it. */
export const judgeResponse = (response: RawResponse | null, id: string, hash: string): string => {
  if (response === null) return 'cut'
  if (response.status !== 200) return summarize(response.status, response.body)
  const echo = JSON.parse(response.body) as Echo
  return echo.id === id && echo.sha256 === hash ? '200' : 'damaged'
}

/** Starts a load, which ends with the test at the latest. */
export const startLoad = (port: number, { groups, lanes, maxBodyBytes = Number.POSITIVE_INFINITY }: Wanted): Load => {
  const bodies = allBodies.filter(({ bytes }) => bytes <= maxBodyBytes)
  const results: Result[] = []
  const watchers = new Set<(result: Result) => void>()
  const waiting = new Map<string, number>()
  let stopped = false
  let n = 0

  const send = async (lane: PipelinedClient, group: Group): Promise<void> => {
    const id = newId()
    const operation = firstOperationOf(group)
    const { method } = operation
    const body = bodies[method === 'GET' ? 0 : n++ % bodies.length] as Body
    const sentAt = performance.now()
    waiting.set(id, sentAt)
    const onResponse = (response: RawResponse | null): void => {
      waiting.delete(id)
      const retryAfter = response === null ? null : (headerValues(response, 'retry-after')[0] ?? null)
      const ms = performance.now() - sentAt
      const result = { id, method, said: judgeResponse(response, id, body.hash), sentAt, ms, retryAfter }
      results.push(result)
      for (const watcher of [...watchers]) watcher(result)
    }
    await lane.send([{ bytes: requestBytes(operation, id, body), method, onResponse }])
  }

  const running = Promise.all(
    groups.flatMap((group) =>
      Array.from({ length: lanes }, async () => {
        const lane = new PipelinedClient(port)
        while (!stopped) await send(lane, group)
        lane.close()
      }),
    ),
  )
  onTestFinished(() => {
    stopped = true
  })
  return {
    results,
    next: (count, wanted = () => true) =>
      Promise.race([
        new Promise<readonly Result[]>((resolve) => {
          const found: Result[] = []
          const watcher = (result: Result): void => {
            if (!wanted(result) || found.push(result) < count) return
            watchers.delete(watcher)
            resolve(found)
          }
          watchers.add(watcher)
        }),
        // A lane that fails ends the test at once.
        running.then(() => Promise.reject(new Error('the load has stopped'))),
      ]),
    waiting: () => [...waiting.values()],
    async stop() {
      stopped = true
      await running
      return results
    },
  }
}

/** Counts results by what was said. */
export const tally = (results: readonly Result[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const { method, said } of results) counts[`${method} ${said}`] = (counts[`${method} ${said}`] ?? 0) + 1
  return counts
}
