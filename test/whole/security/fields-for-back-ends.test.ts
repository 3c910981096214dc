import { describe, expect, test } from 'vitest'
import { sideUpstreams, withCandidate } from '../../helpers/candidate.ts'
import { bootGateway } from '../../helpers/gateway.ts'
import { bootHttp2, dialHttp2, missing, requestHttp2 } from '../../helpers/http2.ts'
import { receivedNames, receivedValues } from '../../helpers/round-trip.ts'
import { httpUpstream, type ReceivedRequest } from '../../helpers/upstream.ts'
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

const twins = [...reserved, ...overrides]
  .filter((name) => name.includes('-'))
  .flatMap((name) => [name.replaceAll('-', '_'), name.replace(/-(?!.*-)/, '_').toLowerCase()])
// Other names, and the fields themselves.
const others = [
  ...['x_content_length', 'contents_type', 'content', 'trace_id', 'transfer_encodings', 'keep_alives', 'a_b'],
  ...['x-originals-url', 'x-http-methods', 'xhost', 'x-proxy', 'proxied', 'x-hosts', 'x_other-host'],
]
const fields = (names: readonly string[], value: string): string[] => names.flatMap((name) => [name, value])
const sent = [...fields(twins, 'twin'), ...fields(overrides, 'override'), ...fields(others, 'other')]

const post = { method: 'POST', target: '/valuation/score', body: Buffer.from('{}') }
const maxHeaderFields = 300

/** Lists the names of what arrived, by the value by which it is known whatever its case. */
const namesOf = (arrived: ReceivedRequest | undefined, value: string): string[] =>
  receivedNames(arrived).filter((_, nth) => arrived?.rawHeaders[2 * nth + 1] === value)

const lower = overrides.map((name) => name.toLowerCase())

describe('no twin of a field of framing, of the content or of an override arrives', () => {
  test.each([
    ['a peer that is not trusted: nor does an override', {}, []],
    ['a trusted proxy: what it says of overrides does', { trustedProxies: ['127.0.0.1'] }, lower],
    ['a peer where listen.overrideFields is forward: overrides do', { overrideFields: 'forward' }, lower],
  ])('from %s', async (_, listen, expected) => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, listen: { maxHeaderFields, ...listen } })
    const cased = expected.length === 0 ? fields([...lower, ...lower.map((n) => n.toUpperCase())], 'override') : []

    const { status } = await call(port, { ...post, fields: ['Content-Type', 'application/json', ...sent, ...cased] })

    const [arrived] = upstream.requests
    expect([status, arrived?.body]).toEqual([200, post.body])
    expect(namesOf(arrived, 'twin')).toEqual([])
    expect(namesOf(arrived, 'override')).toEqual(expected)
    expect(namesOf(arrived, 'other')).toEqual(others)
    expect(receivedValues(arrived, 'content-type')).toEqual(['application/json'])
  })

  test.skipIf(missing !== null)('over HTTP/2', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootHttp2({ upstream: upstream.url, listen: { maxHeaderFields } })
    const names = [...twins, ...overrides].map((name) => name.toLowerCase())
    const headers = {
      ':path': post.target,
      ':method': 'POST',
      ...Object.fromEntries(names.map((name) => [name, 'twin'])),
    }

    const { status } = await requestHttp2(dialHttp2(port), headers, post.body)

    expect([status, namesOf(upstream.requests[0], 'twin')]).toEqual([200, []])
  })

  test('in the copy of a request for a candidate', async () => {
    const { primary, candidate } = await sideUpstreams()
    const settings = withCandidate(primary.url, candidate.url, { shadow: { sample: '100%' } })
    const { port } = await bootGateway({ ...settings, listen: { maxHeaderFields } })

    await call(port, { fields: sent })
    await eventually(() => candidate.requests.length === 1)

    for (const { requests } of [primary, candidate])
      expect([...namesOf(requests[0], 'twin'), ...namesOf(requests[0], 'override')]).toEqual([])
  })
})

test('an override is written by request.set as the file says', async () => {
  const upstream = await httpUpstream()
  const market = { endpoints: [upstream.url], request: { set: { 'X-Original-URL': '/set' } } }
  const { port } = await bootGateway({ upstreams: { market } })

  await call(port, { fields: ['X-Original-URL', '/own', 'X_Original_URL', '/twin'] })

  expect(receivedValues(upstream.requests[0], 'x-original-url')).toEqual(['/set'])
  expect(JSON.stringify(upstream.requests[0]?.rawHeaders)).not.toMatch(/own|twin/)
})
