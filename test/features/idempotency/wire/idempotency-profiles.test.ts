/**
 * Two published rules, by section: draft-ietf-httpapi-idempotency-key-header-07, and "Idempotency" of the UK Open
 * Banking Read/Write API profile v4.0.
 */
import { expect, test } from 'vitest'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { post } from './keyed-post.ts'

const draft = { header: 'Idempotency-Key', required: true, ttl: '24h' }
const ukOpenBanking = { header: 'x-idempotency-key', required: true, maxKey: 40, ttl: '24h' }

const gateway = liveGatewayForAll({
  operations: {
    'financing.pre-approval': { idempotency: draft },
    'valuation.forecast': { idempotency: { ...draft, ttl: '1s' } },
    'risk.asset-valuation': { idempotency: ukOpenBanking },
  },
})

/** Has the upstream say the number of its request, and 404 to a body that is missing there. */
const numbered = (): void =>
  gateway.respondWith(({ body }, response) => {
    if (body.toString() === 'missing') response.writeHead(404).end('no such thing')
    else response.writeHead(201).end(`made ${gateway.received().length}`)
  })

const targets = {
  draft: ['/financing/pre-approval', draft.header],
  'of a second': ['/valuation/forecast', draft.header],
  'UK v4.0': ['/risk/asset-valuation', ukOpenBanking.header],
} as const

/** A request: its key (null: none), its body, what its client is told, and a credential. */
type Asked = readonly [key: string | null, body: string, told: string, credential?: string]

const send = (profile: keyof typeof targets, [key, body, , credential]: Asked): Promise<string> => {
  const [target, header] = targets[profile]
  const own = credential === undefined ? [] : ['Authorization', `Bearer ${credential}`]
  const fields = [...(key === null ? [] : [header, key]), ...own]
  return post(gateway.port, null, { target, fields, body: Buffer.from(body) })
}

const uuid = '8e03978e-40d5-43e8-bc93-6894a57f9324'
const long = 'k'.repeat(40)

test.each<
  readonly [section: string, rule: string, profile: keyof typeof targets, asked: readonly Asked[], made: number]
>([
  [
    ...['draft §2.1, §2.7', 'the key is a string of structured fields, and is not missing: 400', 'draft'],
    [
      [`"${uuid}"`, 'abc', '201 made 1'],
      [`"${uuid}"`, 'abc', '201 made 1 replayed'],
      ['"8e03', 'abc', '400 idempotency-key-invalid'],
      [null, 'abc', '400 idempotency-key-missing'],
    ],
    1,
  ],
  [
    ...['draft §2.2, §2.7', 'a key is not used again with another payload: 422', 'draft'],
    [
      ['"k"', 'abc', '201 made 1'],
      ['"k"', 'abd', '422 idempotency-key-reused'],
      ['"k"', 'abc', '201 made 1 replayed'],
    ],
    1,
  ],
  [
    ...['draft §2.6', 'a repetition of what has ended has its result, an error as well', 'draft'],
    [
      ['"missing"', 'missing', '404 no such thing'],
      ['"missing"', 'missing', '404 no such thing replayed'],
    ],
    1,
  ],
  [
    ...['UK v4.0', 'a key has at most 40 characters: 400', 'UK v4.0'],
    [
      [long, 'abc', '201 made 1'],
      [`${long}k`, 'abc', '400 idempotency-key-invalid'],
      [null, 'abc', '400 idempotency-key-missing'],
    ],
    1,
  ],
  [
    ...[
      'UK v4.0',
      'the same key of the same TPP creates nothing, with another body neither; of another TPP it is new',
      'UK v4.0',
    ],
    [
      [uuid, 'pay 1', '201 made 1', 'a'],
      [uuid, 'pay 1', '201 made 1 replayed', 'a'],
      [uuid, 'pay 2', '422 idempotency-key-reused', 'a'],
      [uuid, 'pay 1', '201 made 2', 'b'],
    ],
    2,
  ],
] as never)('%s: %s', async (_section, _rule, profile, asked, made) => {
  numbered()
  const got: string[] = []

  for (const each of asked) got.push(await send(profile, each))

  expect(got).toEqual(asked.map(([, , told]) => told))
  expect(gateway.received()).toHaveLength(made)
})

test('draft §2.3: a key may expire: it is new then', async () => {
  numbered()

  const first = await send('of a second', ['"k"', 'abc', ''])

  await expect.poll(() => send('of a second', ['"k"', 'another', ''])).toBe('201 made 2')
  expect([first, gateway.received().length]).toEqual(['201 made 1', 2])
})

test('draft §2.6, §2.7: a repetition of what has not ended is a conflict: 409', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  gateway.respondWith((_, response) => void released.then(() => response.writeHead(201).end('made')))
  const first = send('draft', ['"slow"', 'abc', ''])
  await expect.poll(() => gateway.begun()).toBe(1)

  const second = await send('draft', ['"slow"', 'abc', ''])
  release()

  expect([second, await first]).toEqual(['409 request-in-progress', '201 made'])
})
