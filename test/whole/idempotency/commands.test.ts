/** What support learns of a key of idempotency, and how it has one forgotten. */
import { hash } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { AdminContext } from '../../../src/core/admin/admin-context.ts'
import { idempotencyCommands } from '../../../src/features/idempotency/commands.ts'
import { createAuditLog } from '../../features/audit/audit-log-place.ts'
import type { Settings } from '../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { call } from '../../helpers/wire.ts'

const operation = 'financing.pre-approval'
const mine = { operation, address: '127.0.0.1' }
const time = expect.stringMatching(/^\d{4}-.*Z$/)

/** Boots a gateway whose upstream responds with a status that can be changed. */
const boot = async (settings: Settings = {}) => {
  const reply = { status: 201, held: Promise.resolve() }
  const upstream = await httpUpstream(
    (_, response) => void reply.held.then(() => response.writeHead(reply.status).end('done')),
  )
  const written = { upstream: upstream.url, operations: { [operation]: { idempotency: true } }, ...settings }
  const live = await bootLiveGateway(written)
  const post = (key: string, fields: readonly string[] = []) =>
    call(live.gateway.address.port, {
      method: 'POST',
      target: '/financing/pre-approval',
      fields: ['Idempotency-Key', key, 'X-Request-Id', `id-of-${key}`, ...fields],
      body: Buffer.from('abc'),
    })
  const command = async (name: 'show' | 'forget', body: object) => {
    const response = await fetchAdmin(`${live.admin}/idempotency/${name}`, 'POST', { body: JSON.stringify(body) })
    return [response.status, response.body] as const
  }
  return { live, written, upstream, reply, post, command }
}

const secret = 'A'.repeat(43)
const credential = ['X-Api-Key', `key.${secret}`]
const client = (id: string, key: string, value: string) => ({
  ...{ id, operations: 'all' },
  apiKeys: [{ id: key, sha256: hash('sha256', value) }],
})
const lender = client('lender', 'other', 'B'.repeat(43))

/** Boots a gateway that asks its clients who they are: bank-a, whose credential is above, and lender. */
const bootWithClients = () =>
  boot({ auth: { methods: ['apiKey'] }, clients: [client('bank-a', 'key', secret), lender] })

describe('show', () => {
  test('says of a done request which it was, when, and how much is stored, and nothing of its content', async () => {
    const { live, post, command } = await boot()
    await post('k-1')

    const [status, shown] = await command('show', { ...mine, key: '"k-1"' })

    expect([status, shown]).toEqual([
      200,
      {
        ...mine,
        ...{ client: null, state: 'done', firstRequestId: 'id-of-k-1' },
        ...{ claimedAt: time, expiresAt: time, responseBytes: expect.any(Number) },
      },
    ])
    expect(live.lines).toContainEqual(expect.objectContaining({ ...shown, msg: 'idempotency key shown' }))
    expect(JSON.stringify(live.lines)).not.toContain('"k-1"')
  })

  test('says that an outcome is unknown, that a request is under way, and that nothing is remembered', async () => {
    const { upstream, reply, post, command } = await boot()
    const { promise, resolve } = Promise.withResolvers<void>()
    reply.status = 500
    await post('lost')
    reply.held = promise
    const running = post('running')
    await expect.poll(() => upstream.requests.length).toBe(2)

    const shown = await Promise.all(['lost', 'running', 'none'].map((key) => command('show', { ...mine, key })))
    resolve()
    await running

    expect(shown).toMatchObject([
      [200, { state: 'unknown', firstRequestId: 'id-of-lost', expiresAt: time, responseBytes: null }],
      [200, { state: 'in-progress', firstRequestId: 'id-of-running', expiresAt: null, responseBytes: null }],
      [200, { state: 'absent', firstRequestId: null, claimedAt: null, expiresAt: null, responseBytes: null }],
    ])
  })

  test('finds the key of a client by its id, and none by the id of another', async () => {
    const { post, command } = await bootWithClients()
    await post('k-1', credential)

    const shown = await command('show', { operation, key: 'k-1', client: 'bank-a' })
    const other = await command('show', { operation, key: 'k-1', client: 'lender' })

    expect([shown, other].map(([, { state }]) => state)).toEqual(['done', 'absent'])
  })

  test.each(['show', 'forget'] as const)('%s rejects an owner that no request can have', async (name) => {
    const { post, command } = await bootWithClients()
    await post('k-1', credential)

    const misspelt = await command(name, { operation, key: 'k-1', client: 'bank-z', yes: true })
    const byAddress = await command(name, { ...mine, key: 'k-1', yes: true })

    const nearest = 'client: none under clients is named bank-z; probably meant: bank-a'
    expect(misspelt).toMatchObject([400, { detail: nearest }])
    const asked = 'address: financing.pre-approval asks each client who it is; write its name with --client'
    expect(byAddress).toMatchObject([400, { detail: asked }])
  })

  test('rejects a client where no client is asked who it is', async () => {
    const { command } = await boot()

    const [status, { detail }] = await command('show', { operation, key: 'k-1', client: 'bank-a' })

    expect([status, detail]).toEqual([400, `client: ${operation} asks no client who it is; write its --address`])
  })

  test('finds the key of a client that the file no longer has', async () => {
    const { live, written, post, command } = await bootWithClients()
    await post('k-1', credential)
    live.edit({ ...written, clients: [lender] })
    const { status: reloaded } = await fetchAdmin(`${live.admin}/reload`, 'POST')

    const [, { state }] = await command('show', { operation, key: 'k-1', client: 'bank-a' })

    expect([reloaded, state]).toEqual([200, 'done'])
  })

  test.each([
    [{ key: 'k-1', operation }, 400, 'either client or address is expected'],
    [{ key: 'k-1', ...mine, client: 'a' }, 400, 'either client or address is expected'],
    [{ key: 'k-1', operation, address: 'localhost' }, 400, 'address is expected to be an IP address'],
    [{ key: '', ...mine }, 400, 'key is expected to be one that the operation takes'],
    [{ key: 'k'.repeat(256), ...mine }, 400, 'key is expected to be one that the operation takes'],
    [{ key: 'k-1', ...mine, operation: 'market.insights' }, 400, 'operation is expected to be one of'],
    [{ key: 'k-1', ...mine, operation: 'valuation.score' }, 409, 'operations.valuation.score has no idempotency'],
  ])('rejects what names no key: %j', async (body, status, detail) => {
    const { command } = await boot()

    expect(await command('show', body)).toMatchObject([status, { detail: expect.stringContaining(detail) }])
  })
})

/** Has a key forgotten that was found done, by processes that reply so. */
const forgetWhere = async (results: readonly unknown[]) => {
  const forget = idempotencyCommands.commands.find(({ choice }) => choice === 'forget')
  const context = { runEverywhere: async () => ({ results, unanswered: 0 }) } as unknown as AdminContext
  const reference = { operation, key: 'k-1', owner: { address: '127.0.0.1' } }
  const plan = { reference, shown: { ...mine, state: 'done', firstRequestId: 'first' } }
  return await forget?.run(context, plan, { by: 'an operator', apply: async () => {}, recheck: () => null })
}

describe('forget', () => {
  test('has a key processed again, and the audit log says what was forgotten', async () => {
    const log = createAuditLog(onTestFinished)
    const { live, upstream, reply, post, command } = await boot({ audit: log.settings })
    reply.status = 500
    await post('k-1')
    reply.status = 201

    const [status, forgotten] = await command('forget', { ...mine, key: 'k-1', yes: true })
    const again = await post('k-1')

    expect([status, forgotten.state, forgotten.firstRequestId]).toEqual([200, 'unknown', 'id-of-k-1'])
    expect([again.status, upstream.requests.length]).toEqual([201, 2])
    const event = { ...mine, state: 'unknown', firstRequestId: 'id-of-k-1' }
    await expect
      .poll(() => log.lines())
      .toContainEqual(expect.objectContaining({ ...event, event: 'idempotency key forgotten' }))
    expect(live.lines).toContainEqual(expect.objectContaining({ ...event, msg: 'idempotency key forgotten' }))
  })

  test('asks before it does, and says what is at stake', async () => {
    const { post, command } = await boot()
    await post('k-1')

    const asked = await command('forget', { ...mine, key: 'k-1' })
    const [, { state }] = await command('show', { ...mine, key: 'k-1' })

    expect(asked).toMatchObject([
      409,
      {
        code: 'not-confirmed',
        detail: expect.stringMatching(
          /^the first request with this key was processed; its id is id-of-k-1, .*a request with it is processed again: .*--yes/,
        ),
      },
    ])
    expect(state).toBe('done')
  })

  test('leaves a request alone that is under way, and a key of which nothing is remembered', async () => {
    const { upstream, reply, post, command } = await boot()
    const { promise, resolve } = Promise.withResolvers<void>()
    reply.held = promise
    const running = post('running')
    await expect.poll(() => upstream.requests.length).toBe(1)

    const early = await command('forget', { ...mine, key: 'running', yes: true })
    const none = await command('forget', { ...mine, key: 'none', yes: true })
    resolve()
    await running
    await post('running')

    expect([early, none]).toMatchObject([
      [409, { code: 'in-progress' }],
      [409, { code: 'not-remembered' }],
    ])
    expect(upstream.requests).toHaveLength(1)
  })

  test('leaves a repetition alone that has come since it looked', async () => {
    const result = await forgetWhere(['in-progress'])

    expect(result).toMatchObject({ status: 409, code: 'in-progress' })
  })

  test.each([
    ['no worker', 'workers-not-answering', []],
    ['no store', 'idempotency-unavailable', ['unavailable']],
  ])('where %s answers, says that it may be done all the same, in its event too', async (_, code, results) => {
    const result = await forgetWhere(results)

    expect(result).toMatchObject({ status: 503, code, done: { operation, firstRequestId: 'first' } })
    expect(result).toMatchObject({ detail: expect.stringContaining('may be forgotten all the same') })
    expect(JSON.stringify(result)).not.toContain('k-1')
  })

  test.each(['off', 'malformed'])('where an edit made the key %s, nothing is said to be done', async (failure) => {
    expect(await forgetWhere([failure])).not.toHaveProperty('done')
  })
})
