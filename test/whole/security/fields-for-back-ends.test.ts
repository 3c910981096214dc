import { describe, expect, test } from 'vitest'
import { sideUpstreams, withCandidate } from '../../helpers/candidate.ts'
import { bootGateway } from '../../helpers/gateway.ts'
import { bootHttp2, dialHttp2, missing, requestHttp2 } from '../../helpers/http2.ts'
import { receivedNames, receivedValues } from '../../helpers/round-trip.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { call, eventually } from '../../helpers/wire.ts'

describe('framing, under another name', () => {
  // The attack: a client names a field that the gateway has checked, or dropped, with an underscore. A back end that
  // maps names to variables (CGI: RFC 3875 §4.1.18, WSGI, Rack) reads Content_Length as Content-Length, and takes
  // another length, another type or a credential for a proxy. The kind: what ends at this hop (RFC 9110 §7.6.1, §11.7),
  // and all that frames or describes the content (§8, §14.4: every Content-*).

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
})

// The attack: a client asks for one of the nine, and has a field say that it means another method or URL. Symfony,
// Rack, IIS and others go by such a field, and so serve what is none of the nine. A CGI program takes `Proxy` for the
// proxy of its own requests (https://httpoxy.org).

const overrides = [
  ...['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X-Original-Method'],
  ...['X-Original-URL', 'X-Original-URI', 'X-Original-Path', 'X-Rewrite-URL', 'X-Rewrite-URI', 'X-Rewrite-Path'],
  ...['X-HTTP-Path-Override', 'X-Replaced-Path', 'X-Original-Scheme', 'X-Original-Proto'],
  ...['X-Envoy-Original-Path', 'X-Envoy-Original-Host', 'X-Envoy-Original-Dst-Host'],
  ...['X-Host', 'X-Original-Host', 'X-HTTP-Host-Override', 'X-Scheme', 'X-URL-Scheme', 'Front-End-Https', 'Proxy'],
]
const twins = overrides
  .filter((name) => name.includes('-'))
  .flatMap((name) => [name.replaceAll('-', '_'), name.replace('-', '_')])
const others = ['x-originals-url', 'x-http-methods', 'xhost', 'x-proxy', 'proxied', 'x-hosts', 'x_other-host']
const similar = others.flatMap((name) => [name, 'similar'])

/** Writes each field with a value of its own. */
const sent = (names: readonly string[]): string[] => names.flatMap((name, nth) => [name, `/value-${nth}`])

/** The values that arrived, by which each field is known whatever its case. */
const marks = (arrived: { readonly rawHeaders: readonly string[] } | undefined): readonly string[] =>
  (arrived?.rawHeaders ?? []).filter((value) => value.startsWith('/value-'))

const cased = [...overrides, ...overrides.map((name) => name.toLowerCase()), ...overrides.map((n) => n.toUpperCase())]

describe('a field by which a back end may take another method or URL', () => {
  test('does not arrive from a peer that is not trusted, in any case, nor its underscore twins', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, listen: { maxHeaderFields: 200 } })

    await call(port, { fields: [...sent([...cased, ...twins]), ...similar, 'Connection', 'close'] })

    expect([upstream.requests.length, marks(upstream.requests[0])]).toEqual([1, []])
    expect(receivedNames(upstream.requests[0])).toEqual(expect.arrayContaining(others))
  })

  test.skipIf(missing !== null)('does not arrive over HTTP/2 either', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootHttp2({ upstream: upstream.url })
    const names = [...overrides, ...twins].map((name) => name.toLowerCase())
    const fields = Object.fromEntries(names.map((name, nth) => [name, `/value-${nth}`]))

    const { status } = await requestHttp2(dialHttp2(port), { ':path': '/market/insights', ...fields })

    expect([status, marks(upstream.requests[0])]).toEqual([200, []])
  })

  test('arrives from a trusted proxy, and its twins do not: no proxy sends one on purpose', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, listen: { trustedProxies: ['127.0.0.1'] } })

    await call(port, { fields: [...sent([...overrides, ...twins]), 'Connection', 'close'] })

    expect(marks(upstream.requests[0])).toEqual(overrides.map((_, nth) => `/value-${nth}`))
  })

  test('arrives where listen.overrideFields is forward, and forwarded fields still do not', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, listen: { overrideFields: 'forward' } })
    const forwarded = ['X-Forwarded-Prefix', 'X-Real-IP', 'Client-Cert']

    await call(port, { fields: [...sent([...overrides, ...twins, ...forwarded]), 'Connection', 'close'] })

    expect(marks(upstream.requests[0])).toEqual(overrides.map((_, nth) => `/value-${nth}`))
  })

  test('does not reach a candidate in the copy of a request', async () => {
    const { primary, candidate } = await sideUpstreams()
    const { port } = await bootGateway(withCandidate(primary.url, candidate.url, { shadow: { sample: '100%' } }))

    await call(port, { fields: [...sent([...overrides, ...twins]), 'Connection', 'close'] })
    await eventually(() => candidate.requests.length === 1)

    expect([marks(primary.requests[0]), marks(candidate.requests[0])]).toEqual([[], []])
  })

  test('is written by request.set as the file says', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({
      upstreams: { market: { endpoints: [upstream.url], request: { set: { 'X-Original-URL': '/set' } } } },
    })

    await call(port, { fields: ['X-Original-URL', '/value-0', 'X_Original_URL', '/value-1', 'Connection', 'close'] })

    expect(receivedValues(upstream.requests[0], 'x-original-url')).toEqual(['/set'])
    expect(marks(upstream.requests[0])).toEqual([])
  })
})
