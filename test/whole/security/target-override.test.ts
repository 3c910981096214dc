import { describe, expect, test } from 'vitest'
import { sideUpstreams, withCandidate } from '../../helpers/candidate.ts'
import { bootGateway } from '../../helpers/gateway.ts'
import { bootHttp2, dialHttp2, missing, requestHttp2 } from '../../helpers/http2.ts'
import { receivedNames, receivedValues } from '../../helpers/round-trip.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { call, eventually } from '../../helpers/wire.ts'

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
