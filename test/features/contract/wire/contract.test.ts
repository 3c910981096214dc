import { describe, expect, test } from 'vitest'
import { bootApiKeyGateway, key } from '../../../helpers/api-key-gateway.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { httpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

const goodRequest = '{"id":"a","amount":10.00,"parts":[{"id":"b"}]}'
const goodResponse = '{"grade":"A", "score":1.0}'

const boot = async (
  contract: Readonly<Record<string, unknown>>,
  responseBody = goodResponse,
): Promise<{ readonly gateway: TestGateway; readonly upstream: TestUpstream }> => {
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json'])
    response.end(responseBody)
  })
  const gateway = await bootGateway({ upstream: upstream.url, contract: { file: contractFile(), ...contract } })
  return { gateway, upstream }
}

const post = (url: string, body: string, type = 'application/json', query = ''): Promise<Response> =>
  fetch(`${url}/valuation/score${query}`, { method: 'POST', headers: { 'Content-Type': type }, body })

const enforce = { request: 'enforce', response: 'enforce' }

describe('enforced', () => {
  test('a request and a response that keep the contract pass byte for byte', async () => {
    const { gateway, upstream } = await boot(enforce)

    const response = await post(gateway.url, goodRequest, 'application/json', '?mode=fast')

    expect([response.status, await response.text()]).toEqual([200, goodResponse])
    expect(upstream.requests[0]?.body.toString()).toBe(goodRequest)
  })

  test('a request that breaks it gets 400 with the places, and is not forwarded', async () => {
    const { gateway, upstream } = await boot(enforce)

    const response = await post(gateway.url, '{"amount":-7,"parts":[{"id":12345}]}', 'application/json', '?mode=slow')

    expect(response.status).toBe(400)
    const { errors, code } = (await response.json()) as { readonly errors: unknown; readonly code: string }
    expect(code).toBe('invalid-request')
    expect(errors).toEqual([{ pointer: '/mode', in: 'query', rule: 'enum', detail: 'must be one of "fast", "full"' }])
    expect(upstream.requests).toHaveLength(0)
  })

  test('every place in the body is named, without a value', async () => {
    const { gateway } = await boot(enforce)

    const response = await post(gateway.url, '{"amount":-7,"parts":[{"id":12345}]}')

    const { errors } = (await response.json()) as { readonly errors: unknown }
    expect(errors).toEqual([
      { pointer: '/id', in: 'body', rule: 'required', detail: "must have required property 'id'" },
      { pointer: '/amount', in: 'body', rule: 'minimum', detail: 'must be >= 0' },
      { pointer: '/parts/0/id', in: 'body', rule: 'type', detail: 'must be string' },
    ])
  })

  test('another type gets 415', async () => {
    const { gateway } = await boot(enforce)

    const response = await post(gateway.url, goodRequest, 'text/plain')

    expect([response.status, ((await response.json()) as { readonly code: string }).code]).toEqual([
      415,
      'unsupported-media-type',
    ])
  })

  test('a chunked body is held to it too, and passes when it keeps it', async () => {
    const { gateway, upstream } = await boot(enforce)
    const chunked = (body: string): Promise<Response> =>
      fetch(`${gateway.url}/valuation/score`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: new Blob([body]).stream(),
        duplex: 'half',
      } as RequestInit)

    const [good, bad] = [await chunked(goodRequest), await chunked('{}')]

    expect([good.status, bad.status]).toEqual([200, 400])
    expect(upstream.requests.map(({ body }) => body.toString())).toEqual([goodRequest])
  })

  test('a response that breaks it becomes 502, and the client learns nothing of it', async () => {
    const { gateway } = await boot(enforce, '{"grade":"Z"}')

    const response = await post(gateway.url, goodRequest)

    const { requestId: _, ...problem } = (await response.json()) as Readonly<Record<string, unknown>>
    expect([response.status, problem]).toEqual([
      502,
      { type: 'about:blank', title: 'Bad Gateway', status: 502, code: 'invalid-response' },
    ])
    const line = await gateway.line(({ failure }) => failure === 'invalid-response')
    expect(line.cause).toBe('body /grade pattern: must match pattern "^[A-F]$"')
  })

  test('a parameter that is missing or of another type is named', async () => {
    const { gateway } = await boot(enforce)

    const responses = await Promise.all(
      ['', '?limit=1e', '?limit=101', '?limit=1&limit=2', '?limit=10'].map((query) =>
        fetch(`${gateway.url}/market/insights${query}`),
      ),
    )

    expect(responses.map(({ status }) => status)).toEqual([400, 400, 400, 400, 200])
  })

  test('a body over the bound passes unchecked', async () => {
    const { gateway, upstream } = await boot({ ...enforce, maxBody: '1KiB' })
    const long = `{"id":${' '.repeat(200_000)}1}`

    const response = await post(gateway.url, long)

    expect([response.status, upstream.requests[0]?.body.length]).toEqual([200, long.length])
  })
})

describe('reported', () => {
  test('what breaks it passes untouched', async () => {
    const { gateway, upstream } = await boot({}, '{"grade":"Z"}')

    const response = await post(gateway.url, '{"a":1,"a":2}')

    expect([response.status, await response.text()]).toEqual([200, '{"grade":"Z"}'])
    expect(upstream.requests[0]?.body.toString()).toBe('{"a":1,"a":2}')
  })
})

// `check` warns of it: test/features/contract/warnings.test.ts.
test.each([
  [true, 400],
  [false, 200],
])('a contract that requires (%s) the key of a client rejects with it too: %i', async (required, status) => {
  const parameters = [{ name: 'X-Api-Key', in: 'header', required, schema: { type: 'string' } }]
  const get = { parameters, responses: { 200: { description: 'insights' } } }
  const file = contractFile({ openapi: '3.1.1', paths: { '/market/insights': { get } } })
  const { gateway } = await bootApiKeyGateway('all', { contract: { file, request: 'enforce' } })

  const response = await fetch(`${gateway.url}/market/insights`, { headers: { 'X-Api-Key': key } })

  expect(response.status).toBe(status)
})
