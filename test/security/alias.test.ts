import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { findProblemFault } from '../helpers/raw-response.ts'
import { roundTrip } from '../helpers/round-trip.ts'
import { httpUpstream } from '../helpers/upstream.ts'

// The attack: a spelling that one hop's rules (an allow-list, a limit, an audit) do not know, and the next hop decodes
// into one they do.
const aliases = [
  '/%76aluation/score',
  '/valuation/%73core',
  '/valuation%2fscore',
  '/valuation%2Fscore',
  '/valuation/score%00',
  '/valuation/score%20',
  '/valuation/score/',
  '/valuation//score',
  '//valuation/score',
  '/./valuation/score',
  '/x/../valuation/score',
  '/x/%2e%2e/valuation/score',
  '/x/..;/valuation/score',
  '/valuation/score;a=b',
  '/valuation;a/score',
  '/valuation\\score',
  '/Valuation/score',
  '/valuation/score.json',
  '/%2576aluation/score',
  'http://a//valuation/score',
  'http://a/%76aluation/score',
]

test.each(aliases)('%s is not found, and nothing is forwarded', async (target) => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url })

  const { response, arrived } = await roundTrip(port, upstream, `POST ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)

  expect(findProblemFault(response, 404)).toBeNull()
  expect(arrived).toEqual([])
})

test('an override of the method in a field changes nothing', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url })
  const fields = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'].map((name) => `${name}: POST\r\n`)

  const wrong = await roundTrip(port, upstream, `GET /valuation/score HTTP/1.1\r\nHost: a\r\n${fields.join('')}\r\n`)
  const right = await roundTrip(port, upstream, `GET /market/insights HTTP/1.1\r\nHost: a\r\n${fields.join('')}\r\n`)

  expect(findProblemFault(wrong.response, 405)).toBeNull()
  expect(wrong.arrived).toEqual([])
  expect(right.arrived.map(({ method }) => method)).toEqual(['GET'])
})

test('an override of the path in a field changes nothing', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url })
  const fields = 'X-Original-URL: /admin\r\nX-Rewrite-URL: /admin\r\n'

  const { arrived } = await roundTrip(port, upstream, `GET /market/insights HTTP/1.1\r\nHost: a\r\n${fields}\r\n`)

  expect(arrived.map(({ url }) => url)).toEqual(['/market/insights'])
})
