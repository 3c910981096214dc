/** A busy machine: the event loop of the process that checks stands still for longer than an endpoint has. */

import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { NoAnswerError } from '../../../../src/core/lib/try.ts'
import { checkAll, toPreflightTarget } from '../../../../src/core/upstream/health/preflight.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

const target = (reach: () => Promise<void>) => ({ group: 'risk', side: 'primary', name: 'a', reach }) as const

test('a standstill of the process is no time that an endpoint had to answer', async () => {
  let tries = 0
  const checked = checkAll([
    target(async () => {
      tries++
      for (let n = 0; n < 5; n++) await new Promise(setImmediate)
    }),
  ])
  standStill(2200)

  expect(await checked).toMatchObject([{ reason: null }])
  expect(tries).toBe(1)
})

test('an endpoint that listens is reached, though the process stands still while it connects', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const upstream = upstreamConfig([origin])
  const [endpoint] = upstream.endpoints
  if (endpoint === undefined) throw new Error('there is no endpoint')
  const checked = checkAll([toPreflightTarget({ group: 'risk', side: 'primary', endpoint, upstream }, 'connect')])
  standStill(2200)

  expect(await checked).toMatchObject([{ reason: null }])
})

test('one that is silent is tried once more, and one that says no is not, whatever it says', async () => {
  const tries: string[] = []
  const failing = (error: Error, then: Error | null) => {
    let isFirst = true
    return target(async () => {
      const why = isFirst ? error : then
      isFirst = false
      tries.push(`${why}`)
      if (why !== null) throw why
    })
  }
  const silent = new NoAnswerError(2000)
  const results = await checkAll([
    failing(silent, null),
    failing(silent, silent),
    failing(new Error('no answer within 2s'), null),
  ])

  expect(results.map(({ reason }) => reason)).toEqual([null, 'no answer within 2s', 'no answer within 2s'])
  expect(tries).toHaveLength(5)
})
