/** What `status` shows of a gateway with several workers. */
import { expect, test } from 'vitest'
import { healthyStatus, runStatus } from '../../core/cli/status-fixtures.ts'

// By the gateway's clock it is five past two.
const first = {
  ...{ worker: 1, pid: 19, state: 'serving', startedAt: '2026-11-21T02:00:07.204Z', restarts: 0, inFlight: 12 },
  config: healthyStatus.config.hash,
}

test('the workers stand between the gateway and its upstreams, in capitals what needs an operator', async () => {
  const workers = [
    first,
    { ...first, worker: 2, pid: 2044, state: 'not replying', restarts: 3, inFlight: null },
    { ...first, worker: 3, pid: null, state: 'waiting', startedAt: null, restarts: 41, inFlight: null, config: null },
    { ...first, worker: 4, pid: 21, state: 'starting', startedAt: '2026-11-21T02:04:59Z', inFlight: 0, config: null },
    { ...first, worker: 5, pid: 22, config: '9b02c7d11e55' },
    { ...first, worker: 6, pid: null, state: 'ended', startedAt: null, inFlight: null, config: null },
  ]

  const { out } = await runStatus({ ...healthyStatus, workers })

  expect(out).toContain(`log      no lines dropped

worker  process  up      in flight  restarts since the start  state
1       19       4m 52s  12         0                         serving
2       2044     4m 52s  ?          3                         NOT REPLYING: if this lasts: kill -9 2044, and another worker starts
3       none             ?          41                        ENDED REPEATEDLY: the next start waits, the log says why
4       21       1s      0          0                         starting
5       22       4m 52s  12         0                         serving, RUNS ANOTHER CONFIGURATION: 9b02c7d11e55
6       none             ?          0                         ended

group `)
})

test('a gateway without a serving worker shows that first', async () => {
  const { out } = await runStatus({ ...healthyStatus, state: 'not serving', ready: false, workers: [] })

  expect(out).toMatch(/^gateway {2}NOT SERVING, NOT READY\n/m)
})

test('a gateway that serves by itself has no table of them', async () => {
  const { code, out } = await runStatus({ ...healthyStatus, workers: [] })

  expect({ code, hasTable: /^worker/m.test(out) }).toEqual({ code: 0, hasTable: false })
})
