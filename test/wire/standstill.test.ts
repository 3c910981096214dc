/** A gateway whose process stood still. To a process, SIGSTOP is what the pause of its machine is. */
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { sleep } from '../../src/core/lib/clock.ts'
import { bootGatewayProcess } from '../helpers/gateway-process.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { call } from '../helpers/wire.ts'

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
