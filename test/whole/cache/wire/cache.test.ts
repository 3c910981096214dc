import { X509Certificate } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { needCertificates } from '../../../helpers/certificates.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { describeTests, drill, test } from '../../../helpers/speed.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, eventually, pseudoRandomBytes, sha256 } from '../../../helpers/wire.ts'

// Long enough to come in pieces, so that the first gets a response while it is stored.
const body = pseudoRandomBytes(300_000)

test('the audit log has what each client was sent, from memory or not', async () => {
  const log = createAuditLog(onTestFinished)
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Cache-Control', 'max-age=60', 'ETag', '"a"', 'Content-Length', String(body.length)])
    response.end(body)
  })
  const live = await bootLiveGateway({
    upstream: upstream.url,
    audit: { ...log.settings, digests: 'both' },
    operations: { 'market.insights': { cache: true } },
  })
  const { port } = live.gateway.address
  const ask = (id: string, ...fields: string[]) => call(port, { fields: ['X-Request-Id', id, ...fields] })

  await ask('fetched')
  await ask('hit')
  await ask('part', 'Range', 'bytes=100-199')
  await ask('same', 'If-None-Match', '"a"')
  await ask('only-if-cached', 'Cache-Control', 'only-if-cached', 'Accept', 'x', 'Range', 'bytes=0-1')
  await eventually(() => log.lines().length >= 6)

  const lines = log
    .lines()
    .flatMap(({ event, requestId, status, endpoint, responseDigest }) =>
      event === 'exchange' ? [[requestId, status, endpoint, responseDigest]] : [],
    )
  expect(lines).toEqual([
    ['fetched', 200, upstream.url, sha256(body)],
    ['hit', 200, null, sha256(body)],
    ['part', 206, null, sha256(body.subarray(100, 200))],
    ['same', 304, null, sha256(Buffer.alloc(0))],
    ['only-if-cached', 206, null, sha256(body.subarray(0, 2))],
  ])
  expect(upstream.requests).toHaveLength(1)
})

drill('with several workers, one drops what another has made invalid, and all are purged', async () => {
  const target = '/market/insights?a=1'
  const upstream = await httpUpstream(({ method }, response) => {
    if (method === 'POST') response.writeHead(201, { Location: target })
    else response.setHeader('Cache-Control', 'max-age=60')
    response.end()
  })
  const { url, admin } = await bootLiveGateway({
    upstream: upstream.url,
    operations: { 'market.insights': { cache: true } },
    workers: 2,
  })
  // Each connection goes to the next worker, and fetch keeps its own open: so each asks by one of its own.
  const askAll = async (): Promise<void> => {
    for (let nth = 0; nth < 4; nth++) await (await fetch(url + target, { headers: { connection: 'close' } })).text()
  }
  await askAll()
  const stored = upstream.requests.length

  await (await fetch(`${url}/valuation/score`, { method: 'POST', body: '{}' })).text()
  await askAll()
  const again = upstream.requests.length
  const { body } = await fetchAdmin(`${admin}/cache`, 'DELETE')

  expect([stored, again, body.removed]).toEqual([2, 5, 2])
})

test('what was removed in part stands among the orders, with what and why not all', async () => {
  const live = await bootLiveGateway({
    operations: { 'market.insights': { cache: true } },
    cache: { redis: { url: 'redis://127.0.0.1:1' } },
  })

  const { status } = await fetchAdmin(`${live.admin}/cache?operation=market.insights`, 'DELETE')
  const { commands } = (await fetchAdmin(`${live.admin}/overview`)).body

  const text = expect.stringMatching(
    /^In part: cache cleared \(operation market\.insights, removed 0\): 0 were removed here, but Redis did not reply: /,
  )
  expect(status).toBe(503)
  expect(commands).toEqual([{ at: expect.any(String), by: '127.0.0.1', text }])
})

const { made, missing } = await needCertificates()

describeTests.skipIf(missing)('a client with a certificate', () => {
  const boot = async () => {
    const upstream = await httpUpstream((request, response) => {
      response.setHeader('Cache-Control', 'max-age=60')
      response.end(`for ${receivedValues(request, 'x-client-id')}`)
    })
    const { fingerprint256 } = new X509Certificate(made.client.cert)
    const clients = [
      { id: 'bank-a', operations: 'all', certificates: ['dns:bank-a.example'] },
      { id: 'bank-b', operations: 'all', certificates: [`sha256:${fingerprint256}`] },
    ]
    const { port } = await bootTlsGateway(
      made.right,
      { clientCertificates: 'optional', clientCa: made.authority.cert },
      {
        upstream: upstream.url,
        auth: { methods: ['mtls'], identityField: 'X-Client-Id' },
        clients,
        operations: { 'market.insights': { cache: true } },
      },
    )
    return { port, upstream }
  }

  test('that identifies itself gets what was stored for it, and no other client does', async () => {
    const { port, upstream } = await boot()

    const first = await requestOverTls(port, made.bankA)
    const again = await requestOverTls(port, made.bankA)
    const other = await requestOverTls(port, made.client)

    expect(first.text).toMatch(/for bank-a$/)
    expect(again.text).toMatch(/;hit;[\s\S]*for bank-a$/)
    expect(other.text).toMatch(/for bank-b$/)
    expect(upstream.requests).toHaveLength(2)
  })
})
