import { createHash } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { openSandbox } from '../../../src/core/runtime/sandbox.ts'
import { allOperations } from '../../../src/operations.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const sandbox = await openSandbox()
afterAll(() => sandbox.close())

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')

test.each(allOperations)('$id is echoed', async ({ id: operation, method, path, group }) => {
  const response = await fetch(`${sandbox.origin}${path}?a=?&a=%20b`, { method })

  expect(response.status).toBe(200)
  expect(response.headers.get('x-sandbox')).toBe('1')
  expect(response.headers.get('content-type')).toBe('application/json')
  const request = { operation, group, method, path, query: 'a=?&a=%20b' }
  expect(await response.json()).toStrictEqual({ ...request, bytes: 0, sha256: sha256('') })
})

test.each([1, 64 * 1024, 1024 ** 2])('a body of %i bytes is counted and hashed', async (size) => {
  const body = Buffer.alloc(size, 'x')

  const response = await fetch(`${sandbox.origin}/valuation/score`, { method: 'POST', body })

  expect(await response.json()).toMatchObject({ bytes: size, sha256: sha256(body) })
})

test.each([
  ['GET', '/'],
  ['GET', '/health'],
  ['GET', '/valuation/score'],
  ['POST', '/market/insights'],
  ['DELETE', '/inventory/sync'],
  ['GET', '/market/insights/1'],
])('%s %s is unknown to it', async (method, path) => {
  const response = await fetch(sandbox.origin + path, { method })

  expect(response.status).toBe(404)
  expect(response.headers.get('x-sandbox')).toBe('1')
  expect(await response.json()).toMatchObject({ operation: null, group: null, method, path })
})

test('it is on the loopback alone', () => {
  expect(new URL(sandbox.origin).hostname).toBe('127.0.0.1')
})

test('closed, it leaves no connection open', async () => {
  const own = await openSandbox()
  await (await fetch(`${own.origin}/market/insights`)).text()

  await own.close()

  await expect(fetch(`${own.origin}/market/insights`)).rejects.toThrow()
})

test('a health check is not for it, and leaves it up', async () => {
  const probed = await httpUpstream()
  const healthCheck = { path: '/health', interval: '100ms', unhealthyAfter: 1 }
  const { admin } = await bootLiveGateway({ defaults: { healthCheck }, upstreams: { market: probed.url } })
  // Probes begin within the first interval.
  await expect.poll(() => probed.requests.length).toBeGreaterThanOrEqual(3)

  const { upstreams } = (await fetchAdmin(`${admin}/status`)).body as unknown as {
    upstreams: Record<string, { endpoints: object }>
  }

  expect(upstreams.risk?.endpoints).toMatchObject([{ url: 'sandbox', state: 'up', lastProbe: null }])
})
