import { expect, test } from 'vitest'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'
import { fieldsOf, settledCopies, sha256, stageShadow } from './shadow-stage.ts'

// The attack: a client uses the copies of its requests to reach what it must not, or to harm others.

test.each([
  ['as it is', ['X-Shadow', '1']],
  ['in another case, and twice', ['x-shadow', '0', 'X-SHADOW', '1']],
  ['as a CGI-like back end reads it', ['X_Shadow', '1']],
  ['nominated by Connection', ['X-Shadow', '1', 'Connection', 'close, X-Shadow']],
  ['nominated by Connection alone, so that it is taken from the copy', ['Connection', 'close, x-shadow']],
])('a forged marker, %s, reaches no primary, and each copy has one', async (_, fields) => {
  const candidate = await httpUpstream()
  const stage = await stageShadow(candidate.url)

  expect((await call(stage.port, { target: '/market/insights', fields })).status).toBe(200)
  await settledCopies(stage, 'market', 1)

  const marksOf = (request: (typeof candidate.requests)[number] | undefined) =>
    (request === undefined ? [] : fieldsOf(request)).filter((each) => /^x[-_]shadow/.test(each))
  expect(marksOf(stage.primary.requests[0])).toEqual([])
  expect(marksOf(candidate.requests[0])).toEqual(['x-shadow: 1'])
})

test.each([
  '?access_token=secret',
  '?a=1&access_token=secret',
  '?a=1;access_token=secret',
  '?access%5Ftoken=secret',
  '?%61ccess_token=secret',
  '?+access_token=secret',
  '?a=%zz&access_token=secret',
])('a token in the query %s does not reach the candidate', async (query) => {
  const candidate = await httpUpstream()
  const stage = await stageShadow(candidate.url)

  const { status } = await call(stage.port, { target: `/market/insights${query}` })
  await call(stage.port, { target: '/market/insights?sound' })
  await settledCopies(stage, 'market', 2)

  expect(status).toBe(200)
  expect(stage.primary.requests[0]?.url).toContain('secret')
  expect(candidate.requests.map(({ url }) => url)).toEqual(['/market/insights?sound'])
})

test('credentials that are hop-by-hop, nominated or spelled otherwise do not reach the candidate', async () => {
  const candidate = await httpUpstream()
  const stage = await stageShadow(candidate.url)
  const fields = [
    ...['Connection', 'close, X-Secret', 'X-Secret', 'secret-1', 'Proxy-Authorization', 'Basic secret-2'],
    ...['AUTHORIZATION', 'Bearer secret-3', 'Proxy_Authorization', 'secret-4', 'cookie', 'a=secret-5'],
    ...['X_Auth_Token', 'secret-6', 'X-Forwarded-Client-Cert', 'secret-7', 'TE', 'secret-8', 'Keep-Alive', 'secret-9'],
  ]

  await call(stage.port, { target: '/market/insights', fields })
  await settledCopies(stage, 'market', 1)

  expect(candidate.requests).toHaveLength(1)
  expect(JSON.stringify(candidate.requests[0])).not.toContain('secret')
})

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\nX-Shadow: 0\r\n\r\n'

test.each([
  ['of a length', `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`],
  ['in chunks', `Transfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`],
  [
    'in chunks with trailers',
    `Transfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)};a=b\r\n${smuggled}\r\n0\r\nX-Trailer: a\r\n\r\n`,
  ],
])('a body %s that reads like a request is a body to the candidate', async (_, rest) => {
  const candidate = await httpUpstream()
  const stage = await stageShadow(candidate.url)
  const clients = await Promise.all([1, 2, 3].map(() => rawClient(stage.port)))

  for (const client of clients) {
    client.send(`POST /valuation/score HTTP/1.1\r\nHost: a\r\n${rest}`)
    await client.until((text) => text.includes(sha256(smuggled)))
  }
  await settledCopies(stage, 'valuation', 3)

  expect(candidate.requests.map(({ method, url, sha256: digest }) => [method, url, digest])).toEqual(
    clients.map(() => ['POST', '/valuation/score', sha256(smuggled)]),
  )
})

test.each([
  ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['two lengths', 'Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde'],
  ['a coding of a coding', 'Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n'],
])('a request with %s reaches neither', async (_, rest) => {
  const candidate = await httpUpstream()
  const stage = await stageShadow(candidate.url)
  const client = await rawClient(stage.port)

  client.send(`POST /valuation/score HTTP/1.1\r\nHost: a\r\n${rest}`)
  await client.until((text) => text.startsWith('HTTP/1.1 400'))
  await call(stage.port, { method: 'POST', target: '/valuation/score', body: Buffer.from('sound') })
  await settledCopies(stage, 'valuation', 1)

  expect([stage.primary, candidate].map(({ requests }) => requests.map(({ sha256: digest }) => digest))).toEqual([
    [sha256('sound')],
    [sha256('sound')],
  ])
})

test('uploads that never end have no copies, and the copies of others go on', async () => {
  const candidate = await httpUpstream()
  const stage = await stageShadow(candidate.url, { maxBody: '64KiB', maxBytes: '1MiB' })

  const clients = await Promise.all(Array.from({ length: 50 }, () => rawClient(stage.port)))
  for (const client of clients)
    client.send(
      `POST /valuation/score HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${'7d00\r\n'}${'x'.repeat(32_000)}\r\n`,
    )
  await expect.poll(() => stage.primary.begun(), { timeout: 30_000 }).toBe(50)
  for (const client of clients) client.close()
  await settledCopies(stage, 'valuation', 50)
  for (let nth = 0; nth < 16; nth++)
    await call(stage.port, { method: 'POST', target: '/valuation/score', body: Buffer.alloc(60_000, nth) })
  const { sent, dropped } = await settledCopies(stage, 'valuation', 66)

  // Where the body found no room, it was that which kept it from being copied.
  expect([sent, (dropped['body-unfinished'] ?? 0) + (dropped['no-room'] ?? 0)]).toEqual([16, 50])
  expect(candidate.requests).toHaveLength(16)
})

test('huge bodies are not copied, and arrive whole', async () => {
  const candidate = await httpUpstream()
  const stage = await stageShadow(candidate.url, { maxBody: '64KiB' })
  const body = Buffer.alloc(900_000, 'x')
  const send = () => call(stage.port, { method: 'POST', target: '/valuation/score', body })

  const responses = await Promise.all(Array.from({ length: 20 }, send))
  const { dropped } = await settledCopies(stage, 'valuation', 20)

  for (const response of responses) expect(response.body.toString()).toContain(sha256(body))
  expect(dropped['body-too-large']).toBe(20)
  expect(candidate.requests).toHaveLength(0)
})

test('1,000 requests at once make no more copies than may be under way, and each is answered', async () => {
  const candidate = await rawUpstream((socket) => onRequest(socket, () => {}))
  const stage = await stageShadow(candidate.url, { concurrency: 7, timeout: '10m' })
  const clients = await Promise.all(Array.from({ length: 100 }, () => rawClient(stage.port)))

  for (const client of clients) client.send('GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(10))
  for (const client of clients) await client.until((text) => text.split('HTTP/1.1 200').length === 11)
  const dropped = async () => (await stage.shown('market')).dropped.full
  await expect.poll(dropped).toBe(993)

  expect((await stage.shown('market')).underWay).toBe(7)
  expect(candidate.accepted()).toBe(7)
})
