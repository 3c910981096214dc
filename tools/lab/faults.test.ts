import { describe, expect } from 'vitest'
import { groups } from '../../src/operations.ts'
import { drill, part, test, testAndDrill } from '../../test/helpers/speed.ts'
import { pseudoRandomBytes } from '../../test/helpers/wire.ts'
import { openEndpoint } from './endpoint.ts'
import * as does from './endpoint-behavior.ts'
import { checkFault, checkRecovery, type Fault, openFaultSetups, toUpstreams } from './fault-matrix.ts'
import { bootLab, fetchGroupStatus, newId, sendToGroup, waitUntil } from './lab.ts'

/** A fault of one that can be connected to. */
interface Misbehaves extends Fault {
  readonly behavior: does.EndpointBehavior
  /** Whether it takes a timeout to notice. */
  readonly slow?: true
}

const row = (
  fault: string,
  behavior: does.EndpointBehavior,
  get: string,
  post = get,
  more: Partial<Misbehaves> = {},
): Misbehaves => ({
  ...{ fault, behavior, get, post },
  ...more,
})

const timeouts = { headers: '2s', body: '2s' }

const either = ['502 connect-failed', '502 reset-before-headers']

const faults: readonly Misbehaves[] = [
  row('resets when it has the request', does.resetWhenWhole, '502 reset-before-headers'),
  // The reset may arrive before the request goes out, or afterwards.
  row('resets at accept', does.resetAtAccept, '502 reset-before-headers', undefined, { alone: either }),
  row('hangs before the head', does.hang, '504 headers-timeout', undefined, { slow: true }),
  row('drips its head', does.dripHead, '504 headers-timeout', undefined, { slow: true }),
  row('drips its body', does.dripBody, '200'),
  row('stalls in its body', does.stallInBody, 'cut', undefined, { slow: true }),
  row('truncates its body', does.truncate, 'cut'),
  row('has no status line', does.garbage, '502 bad-response'),
  row('has an invalid field', does.invalidField, '502 bad-response'),
  row('has an oversized field', does.oversizedField, '502 bad-response'),
  row('says more than it was asked', does.extraResponse, '200'),
  row('responds before it has read the body', does.respondEarly, '413'),
  row('says 100 unasked', does.unsolicitedContinue, '200'),
  row('cuts an idle connection under the request', does.cutIdle, '200', '502 reset-before-headers', { reused: true }),
  row('closes after each response', does.closeAfterResponse, '200'),
]

describe('an endpoint that', () => {
  testAndDrill.each(part(faults))('$fault', async ({ behavior, slow, ...fault }) => {
    const benches = await openFaultSetups()
    for (const { faulty } of benches) faulty.behave(behavior)
    const live = await bootLab(toUpstreams(benches, slow ? { timeouts } : {}))

    const wrong = await Promise.all(
      benches.map(async (bench) => [
        ...(await checkFault(live.port, fault, bench)),
        ...(await checkRecovery(live.port, bench, [bench.faulty, ...bench.sound])),
      ]),
    )

    expect(wrong.flat()).toEqual([])
    for (const { faulty } of benches) expect(faulty.accepted()).toBeGreaterThanOrEqual(2)
    for (const group of groups) expect(await fetchGroupStatus(live, group)).toMatchObject({ inFlight: 0 })
    await live.gateway.close()
    await waitUntil(() =>
      benches.every(({ faulty, sound }) => [faulty, ...sound].every((each) => each.connections() === 0)),
    )
  })

  drill(
    'responds before it has read the body gets its response through, however much of the body is still to come',
    async () => {
      const endpoint = await openEndpoint({ behavior: does.respondEarly })
      const live = await bootLab({ risk: endpoint.url })
      const body = pseudoRandomBytes(8_000_000)

      const outcomes = []
      for (let n = 0; n < 10; n++)
        outcomes.push(await sendToGroup(live.port, 'risk', newId(), { body, chunkBytes: 50_000 }))

      expect(outcomes.map(({ said }) => said)).toEqual(Array(10).fill('413'))
      endpoint.behave(does.respond())
      expect(await sendToGroup(live.port, 'risk', newId(), { body })).toMatchObject({ said: '200' })
      expect(await fetchGroupStatus(live, 'risk')).toMatchObject({ inFlight: 0 })
    },
  )

  test('sends bytes without a request is ignored, and that connection is not used again', async () => {
    const behavior = does.extraResponseLater()
    const endpoint = await openEndpoint({ behavior })
    const live = await bootLab({ market: { endpoints: [endpoint.url], keepAlive: '60s' } })

    const before = await sendToGroup(live.port, 'market', newId())
    behavior.later()
    await waitUntil(() => endpoint.connections() === 0)
    const after = await sendToGroup(live.port, 'market', newId())

    expect([before.said, after.said]).toEqual(['200', '200'])
    expect(after.body).toContain(after.id)
    expect(endpoint.accepted()).toBe(2)
  })

  drill('refuses connections gets no request of a client as long as there is another', async () => {
    const fault = { fault: 'refuses', get: null, post: null, alone: ['502 connect-failed'] }
    const benches = await openFaultSetups()
    for (const { faulty } of benches) await faulty.refuseConnections()
    const live = await bootLab(toUpstreams(benches))

    const wrong = await Promise.all(
      benches.map(async (bench) => {
        const found = await checkFault(live.port, fault, bench)
        await bench.faulty.listen()
        return [...found, ...(await checkRecovery(live.port, bench, [bench.faulty, ...bench.sound]))]
      }),
    )

    expect(wrong.flat()).toEqual([])
    for (const group of groups) expect(await fetchGroupStatus(live, group)).toMatchObject({ inFlight: 0 })
  })

  drill(
    'has a name that does not resolve is down, and gets no request of a client as long as there is another',
    async () => {
      const fault = { fault: 'unresolved', get: null, post: null, alone: ['502 connect-failed', '504 connect-timeout'] }
      const benches = await openFaultSetups()
      const live = await bootLab(
        toUpstreams(benches, {}, ({ name, url, port }) => (name === 'faulty' ? `http://nowhere.invalid:${port}` : url)),
      )

      const wrong = await Promise.all(
        benches.map(async (bench) => [
          ...(await checkFault(live.port, fault, bench)),
          ...(bench.count > 1 ? await checkRecovery(live.port, bench, bench.sound) : []),
        ]),
      )

      expect(wrong.flat()).toEqual([])
      for (const { group } of benches) {
        const { inFlight, endpoints } = await fetchGroupStatus(live, group)
        expect(inFlight).toBe(0)
        expect(endpoints[0]).toMatchObject({ state: 'down', reason: expect.any(String) })
      }
    },
  )
})
