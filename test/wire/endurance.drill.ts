import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { sleep } from '../../src/core/lib/clock.ts'
import { bootGatewayProcess } from '../helpers/gateway-process.ts'
import { parseStatus } from '../helpers/raw-client.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { call } from '../helpers/wire.ts'
import { type ClientOutcome, openBackstage, provokedFailures, type Stage } from './failure-table.ts'

const failuresInAll = 1000
const atOnce = 200

/** Gives up on a provocation without an effect, so that the test can name it. */
const soon = (heard: Promise<ClientOutcome>): Promise<Pick<ClientOutcome, 'received'> & { how: string }> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<{ received: string; how: string }>((resolve) => {
    timer = setTimeout(resolve, 60_000, { received: '', how: 'nothing in a minute' })
  })
  return Promise.race([heard, late]).finally(() => clearTimeout(timer))
}

test('1,000 failures of every kind leave no descriptor, socket or timer behind', { timeout: 600_000 }, async () => {
  // A connection on which nothing has come by then is closed without a response, and here as many as 200 are opened at
  // once: on a slow machine the last of them waits for seconds.
  const backstage = await openBackstage(undefined, '15s')
  onTestFinished(() => backstage.close())
  const gateway = await bootGatewayProcess(backstage.settings)
  gateway.stdout().resume()
  const stage: Stage = { port: gateway.port, brokenPort: gateway.brokenPort, upstream: backstage.upstream }
  const before = await gateway.census()

  let next = 0
  const unexpected: string[] = []
  const fail = async (): Promise<void> => {
    while (next < failuresInAll) {
      const n = next++
      const row = provokedFailures[n % provokedFailures.length]
      if (row === undefined) throw new Error('no such row')
      const { received, how } = await soon(row.provoke(stage, `failure-${n}`))
      // On a busy machine 250 ms may be over before anything else has gone wrong.
      const asExpected = [row.status === 'cut' ? 200 : row.status, 408, 504].includes(parseStatus(received))
      if (row.status === 'silence' ? how !== 'left' : !asExpected)
        unexpected.push(`${row.kind}, ${row.provoked}: ${how} ${received.slice(0, 40)}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, fail))

  expect(unexpected).toEqual([])
  // Idle connections to the upstreams, and lingering ones, have timeouts of their own; nothing else may be waited for.
  // The rest of a request would be seen before its deadline of 30 s.
  await expect
    .poll(
      async () => {
        const { descriptors, resources } = await gateway.census()
        return { descriptors, resources }
      },
      { timeout: 25_000, interval: 100 },
    )
    .toEqual({ descriptors: before.descriptors, resources: before.resources })
  expect(await gateway.close()).toBe(0)
})

// To a process, SIGSTOP is the same as a pause of its machine.
test('a response that came while the gateway stood still is in time', async () => {
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<ServerResponse>()
  const upstream = await httpUpstream((_, response) => onAsked(response))
  const settings = { upstream: upstream.url, defaults: { timeouts: { headers: '2s' } } }
  const { child, port, stdout } = await bootGatewayProcess(settings)
  stdout().resume()

  const response = call(port, { target: '/market/insights' })
  const held = await asked
  child.kill('SIGSTOP')
  held.end('ok')
  await sleep(2500) // longer than the timeout
  child.kill('SIGCONT')

  expect((await response).status).toBe(200)
})
