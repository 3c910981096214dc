import { expect, test } from 'vitest'
import { clientErrorFindings } from '../../../../src/core/admin/findings/endpoint-findings.ts'
import type { EndpointReport } from '../../../../src/core/runtime/status/endpoint.ts'
import { seeded } from '../../upstream/balancing/fake-candidates.ts'
import { endpoint, findingInputs, renderFindings } from './finding-inputs.ts'

/** Creates the endpoints of risk, with recent requests and their number of 4xx. */
const responding = (clientErrors: number, requests: number, i: number, more: Partial<EndpointReport> = {}) =>
  endpoint({ url: `http://risk-${i}:8080`, recentResponses: { requests, clientErrors }, ...more })

const calm = findingInputs()

const found = (endpoints: readonly EndpointReport[]) => {
  const risk = { ...calm.report.upstreams.risk, endpoints }
  return clientErrorFindings('risk', {
    ...calm,
    report: { ...calm.report, upstreams: { ...calm.report.upstreams, risk } },
  })
}

test('an endpoint that responds to far more of its requests with a 4xx than the others is named, with what ends that', () => {
  const endpoints = [responding(14, 600, 0), responding(115, 120, 1), responding(10, 590, 2)]

  expect(renderFindings(findingInputs({ upstreams: { risk: { endpoints } } }))).toEqual([
    {
      severity: 'warning',
      about: 'upstreams.risk',
      cause:
        'http://risk-1:8080 responds to 96 % of its requests with a 4xx, the other endpoints of risk to 2 % (of 120 and 1190 requests in the last 5 minutes): it may be another version, or stand at another path',
      alsoAbout: [],
      details: [],
      since: null,
      command: 'lender-gateway endpoint drain risk http://risk-1:8080',
    },
  ])
})

// A `d` after it: it drains.
test.each([
  ['as many as the others', '90/100 900/1000'],
  ['fewer than the others', '0/100 900/1000 900/1000'],
  ['all of very few', '19/19 0/1000'],
  ['all, and the others had very few', '1000/1000 0/19'],
  ['somewhat more, of however many', '210000/1000000 20000/1000000'],
  ['more, by what may be chance', '18/30 12/40'],
  ['all, and it drains', '100/100d 0/1000'],
  ['all, and the only other drains', '100/100 0/1000d'],
  ['all, and there is no other', '100/100'],
])('one that responds with a 4xx %s is not', (_, shares) => {
  const endpoints = shares.split(' ').map((share, i) => {
    const [clientErrors = 0, requests = 0] = share.split('/').map((count) => Number.parseInt(count, 10))
    return responding(clientErrors, requests, i, {
      state: { name: share.endsWith('d') ? 'draining' : 'up', since: null, reason: null },
    })
  })

  expect(found(endpoints)).toEqual([])
})

test('of endpoints that are all alike, chance names none in 2,000 readings', () => {
  const random = seeded(1)
  const named: unknown[] = []

  for (let n = 0; n < 2_000; n++) {
    const share = random()
    const endpoints = [20 + Math.floor(random() * 40), 20 + Math.floor(random() * 200)].map((requests, i) =>
      responding(Array.from({ length: requests }, random).filter((drawn) => drawn < share).length, requests, i),
    )
    named.push(...found(endpoints))
  }

  expect(named).toEqual([])
})
