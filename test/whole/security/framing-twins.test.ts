import { expect, test } from 'vitest'
import { sideUpstreams, withCandidate } from '../../helpers/candidate.ts'
import { bootGateway } from '../../helpers/gateway.ts'
import { bootHttp2, dialHttp2, missing, requestHttp2 } from '../../helpers/http2.ts'
import { receivedNames, receivedValues } from '../../helpers/round-trip.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { call, eventually } from '../../helpers/wire.ts'

// The attack: a client names a field that the gateway has checked, or dropped, with an underscore. A back end that maps
// names to variables (CGI: RFC 3875 §4.1.18, WSGI, Rack) reads Content_Length as Content-Length, and takes another
// length, another type or a credential for a proxy. The kind: what ends at this hop (RFC 9110 §7.6.1, §11.7), and all
// that frames or describes the content (§8, §14.4: every Content-*).

const reserved = [
  ...['Content-Length', 'Transfer-Encoding', 'Keep-Alive', 'Proxy-Connection', 'HTTP2-Settings'],
  ...['Proxy-Authorization', 'Proxy-Authenticate', 'Proxy-Authentication-Info'],
  ...['Content-Type', 'Content-Encoding', 'Content-Language', 'Content-Location', 'Content-Range', 'Content-MD5'],
  ...['Content-Digest', 'Content-Disposition', 'Content-Transfer-Encoding', 'Content-Security-Policy'],
]
const twins = [
  ...new Set(
    reserved.flatMap((name) => [
      name.replaceAll('-', '_'),
      name.replace('-', '_'),
      name.replace(/-(?!.*-)/, '_'),
      name.toLowerCase().replaceAll('-', '_'),
      name.toUpperCase().replaceAll('-', '_'),
    ]),
  ),
]
const twinFields = twins.flatMap((name) => [name, 'twin'])
// Other names, and the fields themselves.
const kept = ['X_Content_Length', 'Contents_Type', 'Content', 'Trace_Id', 'Transfer_Encodings', 'Keep_Alives', 'a_b']

const body = Buffer.from('{}')

test.each([
  ['a peer that is not trusted', {}],
  ['a trusted proxy, with overrideFields: forward', { trustedProxies: ['127.0.0.1'], overrideFields: 'forward' }],
])('no twin of a field of framing or of the content arrives from %s', async (_, listen) => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, listen })
  const fields = ['Content-Type', 'application/json', ...twinFields, ...kept.flatMap((name) => [name, 'kept'])]

  const { status } = await call(port, { method: 'POST', target: '/valuation/score', body, fields })

  const [arrived] = upstream.requests
  expect([status, arrived?.body]).toEqual([200, body])
  expect((arrived?.rawHeaders ?? []).filter((value) => value === 'twin')).toEqual([])
  expect(receivedNames(arrived)).toEqual(expect.arrayContaining(kept.map((name) => name.toLowerCase())))
  expect(receivedValues(arrived, 'content-type')).toEqual(['application/json'])
})

test.skipIf(missing !== null)('none arrives over HTTP/2 either', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootHttp2({ upstream: upstream.url })
  const fields = Object.fromEntries(twins.map((name) => [name.toLowerCase(), 'twin']))

  const headers = { ':path': '/valuation/score', ':method': 'POST', 'content-type': 'application/json', ...fields }
  const { status } = await requestHttp2(dialHttp2(port), headers, body)

  expect(status).toBe(200)
  expect(receivedNames(upstream.requests[0]).filter((name) => name.includes('_'))).toEqual([])
})

test('none reaches a candidate in the copy of a request', async () => {
  const { primary, candidate } = await sideUpstreams()
  const { port } = await bootGateway(withCandidate(primary.url, candidate.url, { shadow: { sample: '100%' } }))

  await call(port, { fields: [...twinFields, 'Connection', 'close'] })
  await eventually(() => candidate.requests.length === 1)

  const names = [primary, candidate].flatMap(({ requests }) => receivedNames(requests[0]))
  expect(names.filter((name) => name.includes('_'))).toEqual([])
})
