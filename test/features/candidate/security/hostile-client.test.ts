import { expect, test } from 'vitest'
import { rawClient } from '../../../helpers/raw-client.ts'
import { openHttpUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'
import { fieldsOf, sha256, shadowStage } from './shadow-stage.ts'

// The attack: a client uses the copies of its requests to reach what it must not, or to harm others.

const stage = shadowStage(() => openHttpUpstream((_, response) => void response.end()), {
  maxBody: '64KiB',
  maxBytes: '1MiB',
  concurrency: 20,
  timeout: '10m',
})

/** Returns what the primary and the candidate got of requests with so many copies. */
const sidesDuring = async (group: 'market' | 'valuation', count: number, act: () => Promise<unknown>) => {
  const [primary, candidate] = [stage.primary().requests, stage.candidate().requests]
  const before = [primary.length, candidate.length]
  const copies = await stage.copies(group, count, act)
  return { copies, primary: primary.slice(before[0]), candidate: candidate.slice(before[1]) }
}

const get = (query: string, fields: readonly string[] = []) =>
  call(stage.port(), { target: `/market/insights${query}`, fields })

const post = (body: Buffer) => call(stage.port(), { method: 'POST', target: '/valuation/score', body })

test.each([
  ['in any spelling', ['X-Shadow', '1', 'x-shadow', '0', 'X-SHADOW', '1', 'X_Shadow', '1']],
  ['nominated by Connection', ['X-Shadow', '1', 'Connection', 'close, X-Shadow']],
  ['nominated by Connection alone, so that it is taken from the copy', ['Connection', 'close, x-shadow']],
])('a forged marker, %s, reaches no primary, and each copy has one', async (_, fields) => {
  const { primary, candidate } = await sidesDuring('market', 1, () => get('', fields))

  const marksOf = (requests: typeof primary) => requests.flatMap(fieldsOf).filter((each) => /^x[-_]shadow/.test(each))
  expect([primary, candidate].map(marksOf)).toEqual([[], ['x-shadow: 1']])
})

test('a token in the query does not reach the candidate, however it is spelled', async () => {
  const names = ['access_token', 'a=1&access_token', 'a=1;access_token', 'access%5Ftoken', '%61ccess_token']
  const queries = [...names, '+access_token', 'a=%zz&access_token'].map((name) => `?${name}=secret`)

  const { copies, primary, candidate } = await sidesDuring('market', queries.length, () =>
    Promise.all(queries.map((query) => get(query))),
  )

  expect(copies).toEqual({ 'credential-in-query': queries.length })
  expect(primary.map(({ url }) => url.replace('/market/insights', '')).toSorted()).toEqual(queries.toSorted())
  expect(candidate).toEqual([])
})

test('credentials that are hop-by-hop, nominated or spelled otherwise do not reach the candidate', async () => {
  const fields = [
    ...['Connection', 'close, X-Secret', 'X-Secret', 'secret-1', 'Proxy-Authorization', 'Basic secret-2'],
    ...['AUTHORIZATION', 'Bearer secret-3', 'Proxy_Authorization', 'secret-4', 'cookie', 'a=secret-5'],
    ...['X_Auth_Token', 'secret-6', 'X-Forwarded-Client-Cert', 'secret-7', 'TE', 'secret-8', 'Keep-Alive', 'secret-9'],
  ]

  const { candidate } = await sidesDuring('market', 1, () => get('', fields))

  expect(candidate).toHaveLength(1)
  expect(JSON.stringify(candidate)).not.toContain('secret')
})

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\nX-Shadow: 0\r\n\r\n'
const chunk = `${smuggled.length.toString(16)};a=b\r\n${smuggled}\r\n`

test.each([
  ['of a length', `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`],
  ['in chunks with trailers', `Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\nX-Trailer: a\r\n\r\n`],
])('a body %s that reads like a request is a body to the candidate', async (_, rest) => {
  const { candidate } = await sidesDuring('valuation', 1, async () => {
    const client = await rawClient(stage.port())
    client.send(`POST /valuation/score HTTP/1.1\r\nHost: a\r\n${rest}`)
    await client.until((text) => text.includes(sha256(smuggled)))
  })

  expect(candidate.map(({ method, url, sha256: digest }) => [method, url, digest])).toEqual([
    ['POST', '/valuation/score', sha256(smuggled)],
  ])
})

test('uploads that never end have no copies, and other requests are still copied', async () => {
  const begun = stage.primary().begun() + 20
  const start = `POST /valuation/score HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`
  const unfinished = await sidesDuring('valuation', 20, async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => rawClient(stage.port())))
    for (const client of clients) client.send(`${start}7d00\r\n${'x'.repeat(32_000)}\r\n`)
    await expect.poll(() => stage.primary().begun()).toBe(begun)
    for (const client of clients) client.close()
  })
  const { copies } = await sidesDuring('valuation', 5, async () => {
    for (let nth = 0; nth < 5; nth++) await post(Buffer.alloc(60_000, nth))
  })

  // Where the body found no room, it was that which kept it from being copied.
  expect(Object.keys(unfinished.copies)).toContain('body-unfinished')
  expect(unfinished.candidate).toEqual([])
  expect(copies).toEqual({ '2xx': 5 })
})
