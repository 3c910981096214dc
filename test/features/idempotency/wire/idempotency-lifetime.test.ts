/** A key of idempotency over the life of a gateway: edits, commands, and its end. */
import { expect, test } from 'vitest'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { abandon, headOf, left, once, openHeldUpstream, post as postTo } from './keyed-post.ts'

const { operations } = once
const post = ({ port }: LiveGateway, key: string) => postTo(port, key)
const reload = async (live: LiveGateway, settings: Settings): Promise<void> => {
  live.edit(settings)
  await fetchAdmin(`${live.admin}/reload`, 'POST')
}

test('an edit that takes the endpoint away lets an abandoned attempt end, and its outcome is known afterwards', async () => {
  const { upstream, release } = await openHeldUpstream()
  const other = await httpUpstream((_, response) => response.end('other'))
  const live = await bootLiveGateway({ upstream: upstream.url, operations })

  await abandon(live.port, 'a', () => upstream.requests.length === 1)
  await left(live)
  await reload(live, { upstream: other.url, operations })
  const meanwhile = await post(live, 'a')
  const another = await post(live, 'b')
  release()

  expect([meanwhile, another]).toEqual(['409 request-in-progress', '200 other'])
  await expect.poll(() => post(live, 'a')).toBe('200 done replayed')
  await expect.poll(() => upstream.connections()).toBe(0)
  await expect.poll(async () => (await fetchAdmin(`${live.admin}/status`)).body.retiring).toBe(0)
  expect([upstream.requests.length, other.requests.length]).toEqual([1, 1])
})

test('an edit keeps what is remembered, and an operation that loses its idempotency and gets it back has it still', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const live = await bootLiveGateway({ upstream: upstream.url, operations })

  const first = await post(live, 'a')
  await reload(live, { upstream: upstream.url })
  const unprotected = await post(live, 'a')
  await reload(live, { upstream: upstream.url, operations })
  const last = await post(live, 'a')

  expect([first, unprotected, last]).toEqual(['200 done', '200 done', '200 done replayed'])
})

test('a request that the gateway cuts at its end has the gateway’s reason, with a key and without', async () => {
  const { upstream } = await openHeldUpstream()
  const shutdown = { wait: '1ms', deadline: '100ms' }
  const live = await bootLiveGateway({ upstream: upstream.url, operations, shutdown })
  for (const head of [headOf('a', 3), headOf('a', 3).replace(/Idempotency.*\r\n/, '')])
    (await rawClient(live.port)).send(`${head}abc`)
  await expect.poll(() => upstream.requests.length).toBe(2)

  await live.gateway.close()

  const lines = live.lines.filter(({ msg }) => msg === 'exchange')
  expect(lines.map(({ failure, reason, fault, level }) => [failure, reason, fault, level])).toEqual(
    Array(2).fill(['client-gone', 'shutdown-deadline', 'gateway', 40]),
  )
})

test('a gateway that remembers in memory has forgotten every key when it starts again', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const before = await bootLiveGateway({ upstream: upstream.url, operations })

  const first = await post(before, 'a')
  await before.gateway.close()
  const after = await bootLiveGateway({ upstream: upstream.url, operations })

  expect([first, await post(after, 'a')]).toEqual(['200 done', '200 done'])
})
