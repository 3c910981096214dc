import { createHash } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, eventually, pseudoRandomBytes } from '../../../helpers/wire.ts'

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

// Long enough to come in pieces, so that the first is answered while it is stored.
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
    .flatMap(({ event, requestId, status, endpoint, answerDigest }) =>
      event === 'exchange' ? [[requestId, status, endpoint, answerDigest]] : [],
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
