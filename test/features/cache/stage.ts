/** Caches with something stored or on its way, and requests to them, with a faked clock. */

import { vi } from 'vitest'
import type { Exchange, ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { Client, FedBody, openCache } from './helper.ts'

export const fresh = ['Cache-Control', 'max-age=60']
export const tagged = [...fresh, 'ETag', '"a"']
export const noCache = ['Cache-Control', 'no-cache']
export const noStore = ['Cache-Control', 'no-store']

type Stage = ReturnType<typeof openCache>

export const createExchange = (fields: string[] = [], query = ''): Exchange => fakeExchange({ fields, query })

export const byClient = (client: string, fields: string[] = []): Exchange =>
  Object.assign(createExchange(fields), { identity: { client } })

export const readText = (response: ProxyResponse): string => new Client(response.body).text
export const readAll = async (pending: readonly Promise<ProxyResponse>[]): Promise<string[]> =>
  (await Promise.all(pending)).map(readText)

export const times = <T>(count: number, create: () => T): T[] => Array.from({ length: count }, () => create())

/** Sends a request, and reads its response, which the cache stores if it may. */
export const storing = async (stage: Stage, fields: readonly string[], asked: string[] = []): Promise<void> => {
  const pending = stage.get(asked)
  await stage.respond(stage.sent.length - 1, fields)
  new Client((await pending).body)
}

export const askAtOnce = (stage: Stage, count: number) => {
  const exchanges = times(count, createExchange)
  return { exchanges, pending: exchanges.map((each) => stage.handle(each)) }
}

export const secondsLater = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1000)

/** Opens a cache through which a response with these fields has gone, which it stores if it may. */
export const openStored = async (
  fields: readonly string[],
  options?: Parameters<typeof openCache>[0],
): Promise<Stage> => {
  const stage = openCache(options)
  await storing(stage, fields)
  return stage
}

/** Opens a cache in which a response is stored that was fresh for a minute, a second ago. */
export const openStale = async (...given: Parameters<typeof openStored>): Promise<Stage> => {
  const stage = await openStored(...given)
  secondsLater(61)
  return stage
}

/** Opens a cache through which a body is on its way to clients; the slow ones read only what comes at once. */
export const openStreaming = async (
  isSlow: readonly boolean[],
  fields = fresh,
  options?: Parameters<typeof openCache>[0],
) => {
  const stage = openCache(options)
  const body = new FedBody().feed('begun ')
  const { exchanges, pending } = askAtOnce(stage, isSlow.length)
  await stage.respond(0, fields, body)
  const clients = (await Promise.all(pending)).map((response, i) => new Client(response.body, isSlow[i]))
  return { ...stage, body, exchanges, clients, stage }
}

export const isEmpty = ({ partition, store }: Stage): boolean => partition.entries === 0 && store.bytes === 0

export const clientGone = (): GatewayError => new GatewayError('client-gone')
