/**
 * What two published rules ask of the server, by their sections: draft-ietf-httpapi-idempotency-key-header-07, and
 * "Idempotency" of the UK Open Banking Read/Write API profile v4.0.
 */
import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

const draft = { header: 'Idempotency-Key', required: true, ttl: '24h' }
const ukOpenBanking = { header: 'x-idempotency-key', required: true, maxKey: 40, ttl: '24h' }

/** Sends a POST with a key of the profile, or without one, and returns the status and what the body says. */
type Send = (key: string | null, body?: string, fields?: readonly string[]) => Promise<string>

interface Rule {
  readonly section: string
  readonly rule: string
  readonly profile: Readonly<Record<string, unknown>>
  readonly run: (send: Send, upstream: TestUpstream) => Promise<readonly string[]>
  readonly got: readonly string[]
  readonly processed: number
}

const uuid = '8e03978e-40d5-43e8-bc93-6894a57f9324'

const rules: readonly Rule[] = [
  {
    section: 'draft §2.1',
    rule: 'the key is a string of structured fields, and there is no more than one',
    profile: draft,
    run: async (send) => [
      await send(`"${uuid}"`),
      await send(`"${uuid}"`),
      await send(`"${uuid}"`, 'abc', ['Idempotency-Key', `"${uuid}"`]),
      await send('"8e03'),
    ],
    got: ['201 made 1', '201 made 1 replayed', '400 idempotency-key-invalid', '400 idempotency-key-invalid'],
    processed: 1,
  },
  {
    section: 'draft §2.2, §2.7',
    rule: 'a key is not used again with another payload: 422',
    profile: draft,
    run: async (send) => [await send('"k"', 'abc'), await send('"k"', 'abd'), await send('"k"', 'abc')],
    got: ['201 made 1', '422 idempotency-key-reused', '201 made 1 replayed'],
    processed: 1,
  },
  {
    section: 'draft §2.3',
    rule: 'a key may expire: it is new then',
    profile: { ...draft, ttl: '1s' },
    run: async (send, upstream) => {
      const first = await send('"k"')
      await expect.poll(() => send('"k"', 'another'), { timeout: 30_000 }).toBe('201 made 2')
      return [first, String(upstream.requests.length)]
    },
    got: ['201 made 1', '2'],
    processed: 2,
  },
  {
    section: 'draft §2.6',
    rule: 'a repetition of what has ended has its result, success or error',
    profile: draft,
    run: async (send) => [
      await send('"k"'),
      await send('"k"'),
      await send('"missing"', 'missing'),
      await send('"missing"', 'missing'),
    ],
    got: ['201 made 1', '201 made 1 replayed', '404 no such thing', '404 no such thing replayed'],
    processed: 2,
  },
  {
    section: 'draft §2.6, §2.7',
    rule: 'a repetition of what has not ended is a conflict: 409',
    profile: draft,
    run: async (send, upstream) => {
      const first = send('"k"', 'slow')
      await expect.poll(() => upstream.begun()).toBe(1)
      const second = await send('"k"', 'slow')
      await send('"release"', 'release')
      return [second, await first]
    },
    got: ['409 request-in-progress', '201 made 1'],
    processed: 2,
  },
  {
    section: 'draft §2.7',
    rule: 'a key that is asked for and missing: 400',
    profile: draft,
    run: async (send) => [await send(null)],
    got: ['400 idempotency-key-missing'],
    processed: 0,
  },
  {
    section: 'UK v4.0, Idempotency',
    rule: 'a key has at most 40 characters; a longer one: 400',
    profile: ukOpenBanking,
    run: async (send) => [await send('k'.repeat(40)), await send('k'.repeat(41)), await send(null)],
    got: ['201 made 1', '400 idempotency-key-invalid', '400 idempotency-key-missing'],
    processed: 1,
  },
  {
    section: 'UK v4.0, Idempotency',
    rule: 'the same key of the same TPP within 24 hours creates nothing, and is answered 201; of another TPP it is new',
    profile: ukOpenBanking,
    run: async (send) => {
      const as = (tpp: string) => send(uuid, 'abc', ['Authorization', `Bearer ${tpp}`])
      return [await as('a'), await as('a'), await as('b')]
    },
    got: ['201 made 1', '201 made 1 replayed', '201 made 2'],
    processed: 2,
  },
  {
    section: 'UK v4.0, Idempotency',
    rule: 'the same key with another body does not change the resource',
    profile: ukOpenBanking,
    run: async (send) => [await send(uuid, 'pay 1'), await send(uuid, 'pay 2')],
    got: ['201 made 1', '422 idempotency-key-reused'],
    processed: 1,
  },
]

test.each(rules)('$section: $rule', async ({ profile, run, got, processed }) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const upstream = await httpUpstream(({ body }, response) => {
    const nth = upstream.requests.length
    if (body.toString() === 'release') release()
    if (body.toString() === 'missing') response.writeHead(404).end('no such thing')
    else if (body.toString() === 'slow') void released.then(() => response.writeHead(201).end(`made ${nth}`))
    else response.writeHead(201).end(`made ${nth}`)
  })
  const operations = { 'financing.pre-approval': { idempotency: profile } }
  const { port } = await bootGateway({ upstream: upstream.url, operations })
  const send: Send = async (key, body = 'abc', fields = []) => {
    const own = key === null ? [] : [String(profile.header), key]
    const response = await call(port, {
      method: 'POST',
      target: '/financing/pre-approval',
      fields: [...own, ...fields],
      body: Buffer.from(body),
    })
    const [type] = fieldValues(response.fields, 'content-type')
    const text = response.body.toString()
    const replayed = fieldValues(response.fields, 'idempotency-replayed').map(() => ' replayed')
    return `${response.status} ${type === 'application/problem+json' ? JSON.parse(text).code : text}${replayed.join()}`
  }

  expect(await run(send, upstream)).toEqual(got)
  expect(upstream.requests).toHaveLength(processed)
})
