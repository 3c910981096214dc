/** Sends requests that should go well, and has account kept of them. */
import { setTimeout as pause } from 'node:timers/promises'
import { allOperations, type Operation } from '../../src/operations.ts'
import { PipelinedClient } from '../../test/helpers/pipelined-client.ts'
import type { RawResponse } from '../../test/helpers/raw-response.ts'
import { newId } from '../lab/lab.ts'
import { allBodies, type Body, judgeResponse, requestBytes } from '../lab/load.ts'
import type { Account } from './account.ts'

/** Something that goes on until it is stopped. */
export interface Ongoing {
  /** Ends after what is on its way. */
  stop(): Promise<void>
}

/** Does something again and again, so many at once, with a pause after each. */
export const ongoing = (count: number, pauseMs: number, work: (nth: number) => Promise<void>): Ongoing => {
  let stopped = false
  const running = Promise.all(
    Array.from({ length: count }, async (_, nth) => {
      await pause((pauseMs * nth) / count) // not all in step
      while (!stopped) {
        await work(nth)
        await pause(pauseMs)
      }
    }),
  )
  return {
    async stop() {
      stopped = true
      await running
    },
  }
}

const lanesEach = 3
const pauseMs = 50

/** Keeps connections to each of the nine, one request at a time on each. */
export const keepAlive = (port: number, account: Account): Ongoing => {
  const lanes = Array.from({ length: allOperations.length * lanesEach }, () => new PipelinedClient(port))
  const sending = ongoing(lanes.length, pauseMs, (nth) =>
    send(lanes[nth] as PipelinedClient, allOperations[nth % allOperations.length] as Operation, account),
  )
  return {
    async stop() {
      await sending.stop()
      for (const lane of lanes) lane.close()
    },
  }
}

/** Opens a connection for each request, and closes it. */
export const churn = (port: number, account: Account): Ongoing =>
  ongoing(allOperations.length, 2 * pauseMs, async (nth) => {
    const lane = new PipelinedClient(port)
    await send(lane, allOperations[nth] as Operation, account)
    lane.close()
  })

let bodies = 0

const send = async (lane: PipelinedClient, operation: Operation, account: Account): Promise<void> => {
  const id = newId()
  const { method } = operation
  const body = allBodies[method === 'GET' ? 0 : bodies++ % allBodies.length] as Body
  const sentAt = performance.now()
  let said: string | null = null
  const onResponse = (response: RawResponse | null): void => {
    said = whatItSays(response, id, body)
  }
  // A lane rejects when it cannot connect, and when more came than was asked for: be it the beginning of a response
  // that was cut.
  await lane.send([{ bytes: requestBytes(operation, id, body), method, onResponse }]).catch((error) => {
    if (said !== 'cut') said = String(error)
  })
  account.enter({ id, operation, said: said ?? 'nothing', sentAt })
}

const whatItSays = (response: RawResponse | null, id: string, { hash }: Body): string => {
  try {
    return judgeResponse(response, id, hash)
  } catch {
    return 'damaged'
  }
}
