/** What support learns of a key of idempotency, and how it has one forgotten. */
import { hash } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import type { AdminContext } from '../../../src/core/admin/admin-context.ts'
import { idempotencyCommands } from '../../../src/features/idempotency/commands.ts'
import { createAuditLog } from '../../features/audit/audit-log-place.ts'
import { once, send } from '../../features/idempotency/wire/keyed-post.ts'
import { fetchAdmin, liveGatewayForAll, type SharedGateway } from '../../helpers/live-gateway.ts'

const operation = 'valuation.score'
const mine = { operation, address: '127.0.0.1' }
const time = expect.stringMatching(/^\d{4}-.*Z$/)

const post = ({ port }: SharedGateway, key: string, ...fields: readonly string[]) =>
  send(port, key, { fields: ['X-Request-Id', `id-of-${key}`, ...fields] })

const command = async ({ live }: SharedGateway, name: 'show' | 'forget', body: object) => {
  const response = await fetchAdmin(`${live.admin}/idempotency/${name}`, 'POST', { body: JSON.stringify(body) })
  return [response.status, response.body] as const
}

const log = createAuditLog(afterAll)
const gateway = liveGatewayForAll({ ...once, audit: log.settings })

const respond = (status: number) => gateway.respondWith((_, response) => response.writeHead(status).end('done'))

/** Sends a POST that the upstream holds until the returned function is called, which waits for its end. */
const hold = async (key: string): Promise<() => Promise<unknown>> => {
  const { promise: released, resolve } = Promise.withResolvers<void>()
  gateway.respondWith((_, response) => void released.then(() => response.end('done')))
  const running = post(gateway, key)
  await expect.poll(() => gateway.begun()).toBe(1)
  return () => {
    resolve()
    return running
  }
}

describe('show', () => {
  test('says of a done request which it was, when, and how much is stored, and nothing of its content', async () => {
    respond(201)
    await post(gateway, 'k-1')

    const [status, shown] = await command(gateway, 'show', { ...mine, key: '"k-1"' })

    expect([status, shown]).toEqual([
      200,
      {
        ...mine,
        ...{ client: null, state: 'done', firstRequestId: 'id-of-k-1' },
        ...{ claimedAt: time, expiresAt: time, responseBytes: expect.any(Number) },
      },
    ])
    const { lines } = gateway.live
    expect(lines).toContainEqual(expect.objectContaining({ ...shown, msg: 'idempotency key shown' }))
    expect(JSON.stringify(lines)).not.toContain('"k-1"')
  })

  test('says that an outcome is unknown, that a request is under way, and that nothing is remembered', async () => {
    respond(500)
    await post(gateway, 'lost')
    const release = await hold('running')

    const keys = ['lost', 'running', 'none']
    const shown = await Promise.all(keys.map((key) => command(gateway, 'show', { ...mine, key })))
    await release()

    expect(shown).toMatchObject([
      [200, { state: 'unknown', firstRequestId: 'id-of-lost', expiresAt: time, responseBytes: null }],
      [200, { state: 'in-progress', firstRequestId: 'id-of-running', expiresAt: null, responseBytes: null }],
      [200, { state: 'absent', firstRequestId: null, claimedAt: null, expiresAt: null, responseBytes: null }],
    ])
  })

  test.each([
    [{ key: 'k-1', operation }, 400, 'either client or address is expected'],
    [{ key: 'k-1', ...mine, client: 'a' }, 400, 'either client or address is expected'],
    [
      { key: 'k-1', operation, client: 'a' },
      400,
      `client: ${operation} does not authenticate clients; write --address`,
    ],
    [{ key: 'k-1', operation, address: 'localhost' }, 400, 'address is expected to be an IP address'],
    [{ key: '', ...mine }, 400, 'key is expected to be valid for the operation'],
    [{ key: 'k'.repeat(256), ...mine }, 400, 'key is expected to be valid for the operation'],
    [{ key: 'k-1', ...mine, operation: 'market.insights' }, 400, 'operation is expected to be one of'],
    [{ key: 'k-1', ...mine, operation: 'inventory.sync' }, 409, 'operations.inventory.sync has no idempotency'],
  ])('rejects arguments that name no key: %j', async (body, status, detail) => {
    const shown = await command(gateway, 'show', body)

    expect(shown).toMatchObject([status, { detail: expect.stringContaining(detail) }])
  })
})

describe('of clients that are asked who they are,', () => {
  const client = (id: string, key: string, value: string) => ({
    ...{ id, operations: 'all' },
    apiKeys: [{ id: key, sha256: hash('sha256', value) }],
  })
  const secret = 'A'.repeat(43)
  const lender = client('lender', 'other', 'B'.repeat(43))
  const settings = { ...once, auth: { methods: ['apiKey'] } }
  const asked = liveGatewayForAll({ ...settings, clients: [client('bank-a', 'key', secret), lender] })

  test('the key of one is found by its id, and by no other, also when the file no longer has it', async () => {
    await post(asked, 'k-1', 'X-Api-Key', `key.${secret}`)
    const showOf = async (id: string) => (await command(asked, 'show', { operation, key: 'k-1', client: id }))[1].state

    const before = [await showOf('bank-a'), await showOf('lender')]
    const owners = [
      { operation, client: 'bank-z' },
      { ...mine, client: undefined },
    ]
    for (const name of ['show', 'forget'] as const)
      expect(
        await Promise.all(owners.map((owner) => command(asked, name, { ...owner, key: 'k-1', yes: true }))),
      ).toMatchObject([
        [400, { detail: 'client: none under clients is named bank-z; probably meant: bank-a' }],
        [400, { detail: `address: ${operation} authenticates clients; write --client` }],
      ])
    asked.live.edit({ ...settings, upstream: asked.upstream, clients: [lender] })
    const { status: reloaded } = await fetchAdmin(`${asked.live.admin}/reload`, 'POST')

    expect(before).toEqual(['done', 'absent'])
    expect([reloaded, await showOf('bank-a')]).toEqual([200, 'done'])
  })
})

/** Has a key forgotten that was found done, by processes that reply so. */
const forgetWhere = async (results: readonly unknown[]) => {
  const forget = idempotencyCommands.commands.find(({ choice }) => choice === 'forget')
  const context = { runEverywhere: async () => ({ results, silent: 0 }) } as unknown as AdminContext
  const reference = { operation, key: 'k-1', owner: { address: '127.0.0.1' } }
  const plan = { reference, shown: { ...mine, state: 'done', firstRequestId: 'first' } }
  return await forget?.run(context, plan, { by: 'an operator', apply: async () => {}, recheck: () => null })
}

describe('forget', () => {
  test('has a key processed again, and the audit log says what was forgotten', async () => {
    respond(500)
    await post(gateway, 'k-2')
    respond(201)

    const [status, forgotten] = await command(gateway, 'forget', { ...mine, key: 'k-2', yes: true })
    const again = await post(gateway, 'k-2')

    expect([status, forgotten.state, forgotten.firstRequestId]).toEqual([200, 'unknown', 'id-of-k-2'])
    expect([again.status, gateway.received().length]).toEqual([201, 1])
    const event = { ...mine, state: 'unknown', firstRequestId: 'id-of-k-2' }
    const [audited, logged] = ['event', 'msg'].map((name) =>
      expect.objectContaining({ ...event, [name]: 'idempotency key forgotten' }),
    )
    await expect.poll(() => log.lines()).toContainEqual(audited)
    expect(gateway.live.lines).toContainEqual(logged)
  })

  test('without --yes is rejected, and says that a request would be processed again', async () => {
    respond(201)
    await post(gateway, 'k-3')

    const asked = await command(gateway, 'forget', { ...mine, key: 'k-3' })
    const [, { state }] = await command(gateway, 'show', { ...mine, key: 'k-3' })

    const detail = expect.stringMatching(
      /^the first request with this key was processed; its id is id-of-k-3, .*a request with it is processed again.*--yes/,
    )
    expect(asked).toMatchObject([409, { code: 'not-confirmed', detail }])
    expect(state).toBe('done')
  })

  test('rejects a key in progress, and a key without a record', async () => {
    const release = await hold('under way')

    const early = await command(gateway, 'forget', { ...mine, key: 'under way', yes: true })
    const none = await command(gateway, 'forget', { ...mine, key: 'nothing', yes: true })
    await release()
    await post(gateway, 'under way')

    expect([early, none]).toMatchObject([
      [409, { code: 'in-progress' }],
      [409, { code: 'not-remembered' }],
    ])
    expect(gateway.received()).toHaveLength(1)
  })

  test('rejects a key that a repetition has claimed since the look-up', async () => {
    expect(await forgetWhere(['in-progress'])).toMatchObject({ status: 409, code: 'in-progress' })
  })

  test.each([
    ['no worker', 'workers-not-replying', []],
    ['no store', 'idempotency-unavailable', ['unavailable']],
  ])('when %s replies, says that the key may still be forgotten, in its event too', async (_, code, results) => {
    const result = await forgetWhere(results)

    const detail = expect.stringContaining('may still be forgotten')
    expect(result).toMatchObject({ status: 503, code, detail, done: { operation, firstRequestId: 'first' } })
    expect(JSON.stringify(result)).not.toContain('k-1')
  })

  test.each(['off', 'malformed'])('where an edit made the key %s, nothing is said to be done', async (failure) => {
    expect(await forgetWhere([failure])).not.toHaveProperty('done')
  })
})
