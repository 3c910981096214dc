import { describe, expect, test } from 'vitest'
import { allOperations } from '../../src/operations.ts'
import { liveGatewayForAll } from '../helpers/live-gateway.ts'
import { exchangeRaw } from '../helpers/raw-client.ts'
import { findProblemFault, headerValues, parseResponses } from '../helpers/raw-response.ts'

const site = liveGatewayForAll({ listen: { basePath: '/lender/v1' } })

const askSite = async (method: string, target: string) => {
  const text = await exchangeRaw(site.port, `${method} ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)
  const [result] = parseResponses(text, [method]).responses
  if (result === undefined) throw new Error(`no response: ${JSON.stringify(text)}`)
  return result
}

describe('with a base path', () => {
  test('with a base path, each of the nine is mounted under it, in the absolute-form too, and forwarded on its own path', async () => {
    for (const { method, path } of allOperations) {
      const [plain, absolute] = [
        await askSite(method, `/lender/v1${path}?a=%20b`),
        await askSite(method, `http://other/lender/v1${path}`),
      ]

      expect([plain.status, absolute.status]).toEqual([200, 200])
      expect(site.server.requests.slice(-2)).toMatchObject([
        { method, url: `${path}?a=%20b` },
        { method, url: path },
      ])
    }
  })

  test('with a base path, each of the nine rejects another method', async () => {
    const before = site.server.requests.length

    for (const { method, path } of allOperations) {
      const response = await askSite('DELETE', `/lender/v1${path}`)
      expect(findProblemFault(response, 405)).toBeNull()
      expect(headerValues(response, 'allow')).toEqual([method])
    }
    expect(site.server.requests.length).toBe(before)
  })

  const misplaced = allOperations
    .slice(1, 3)
    .flatMap(({ method, path }) =>
      [
        ...[path, `/lender${path}`, `/v1${path}`, `/lender/v1/${path}`, `/lender/v1/lender/v1${path}`],
        ...[`/Lender/v1${path}`, `/lender/v1x${path.slice(1)}`, `/lender%2fv1${path}`, `/lender/%761${path}`],
        ...[`/lender/v1/.${path}`, `/lender/v1/..${path}`, `/lender/v1;a${path}`, `//lender/v1${path}`],
        ...[`/lender/v1${path}/`, `http://lender/v1${path}`],
      ].map((target) => [method, target] as const),
    )
  test.each(misplaced)('%s %s is not found', async (method, target) => {
    const before = site.server.requests.length

    const response = await askSite(method, target)

    expect(findProblemFault(response, 404)).toBeNull()
    expect(site.server.requests.length).toBe(before)
  })

  test.each(['/lender/v1', '/lender/v1/', '/', '/lender'])('%s itself is not found', async (target) => {
    expect(findProblemFault(await askSite('GET', target), 404)).toBeNull()
  })
})
