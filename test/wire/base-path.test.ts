import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allOperations } from '../../src/operations.ts'
import { openGateway, type TestGateway } from '../helpers/gateway.ts'
import { exchangeRaw } from '../helpers/raw-client.ts'
import { findProblemFault, headerValues, parseResponses } from '../helpers/raw-response.ts'
import { openHttpUpstream, type TestUpstream } from '../helpers/upstream.ts'

let upstream: TestUpstream
let booted: TestGateway

beforeAll(async () => {
  upstream = await openHttpUpstream()
  booted = await openGateway({ upstream: upstream.url, listen: { basePath: '/lender/v1' } })
})
afterAll(async () => {
  await booted.gateway.close()
  await upstream.close()
})

const ask = async (method: string, target: string) => {
  const text = await exchangeRaw(booted.port, `${method} ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)
  const [answer] = parseResponses(text, [method]).responses
  if (answer === undefined) throw new Error(`no answer: ${JSON.stringify(text)}`)
  return answer
}

describe('with a base path', () => {
  test.each(allOperations)('$id is mounted under it, and forwarded on its own path', async ({ method, path }) => {
    const response = await ask(method, `/lender/v1${path}?a=%20b`)

    expect(response.status).toBe(200)
    expect(upstream.requests.at(-1)).toMatchObject({ method, url: `${path}?a=%20b` })
  })

  test.each(allOperations)('$id is mounted there in the absolute-form too', async ({ method, path }) => {
    const response = await ask(method, `http://other/lender/v1${path}`)

    expect(response.status).toBe(200)
    expect(upstream.requests.at(-1)).toMatchObject({ method, url: path })
  })

  test.each(allOperations)('$id rejects another method', async ({ method, path }) => {
    const before = upstream.requests.length

    const response = await ask('DELETE', `/lender/v1${path}`)

    expect(findProblemFault(response, 405)).toBeNull()
    expect(headerValues(response, 'allow')).toEqual([method])
    expect(upstream.requests.length).toBe(before)
  })

  const misplaced = allOperations.flatMap(({ method, path }) =>
    [
      path,
      `/lender${path}`,
      `/v1${path}`,
      `/lender/v1/${path}`,
      `/lender/v1/lender/v1${path}`,
      `/Lender/v1${path}`,
      `/lender/v1x${path.slice(1)}`,
      `/lender%2fv1${path}`,
      `/lender/%761${path}`,
      `/lender/v1/.${path}`,
      `/lender/v1/..${path}`,
      `/lender/v1;a${path}`,
      `//lender/v1${path}`,
      `/lender/v1${path}/`,
      `http://lender/v1${path}`,
    ].map((target) => [method, target] as const),
  )
  test.each(misplaced)('%s %s is not found', async (method, target) => {
    const before = upstream.requests.length

    const response = await ask(method, target)

    expect(findProblemFault(response, 404)).toBeNull()
    expect(upstream.requests.length).toBe(before)
  })

  test.each(['/lender/v1', '/lender/v1/', '/', '/lender'])('%s itself is not found', async (target) => {
    expect(findProblemFault(await ask('GET', target), 404)).toBeNull()
  })
})
