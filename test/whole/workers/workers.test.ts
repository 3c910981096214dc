/** Two workers, in one gateway for all tests: what features count, remember and decide, they do as one. */
import { renameSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { bucketsOfShare } from '../../../src/core/exchange/sides.ts'
import { clientBucket } from '../../../src/features/candidate/layers/side.ts'
import { type AuditLog, createAuditLog } from '../../features/audit/audit-log-place.ts'
import { contractFile } from '../../helpers/contract.ts'
import { identifiedLoad } from '../../helpers/identified-load.ts'
import { rawClient } from '../../helpers/raw-client.ts'
import { describeTests, drill, test } from '../../helpers/speed.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../helpers/tokens.ts'
import { openHttpUpstream, type ReceivedRequest, type TestUpstream } from '../../helpers/upstream.ts'
import { call, fieldValues, type WireRequest } from '../../helpers/wire.ts'
import { kill, type ShownWorker, startWorkerGateway, type WorkerGateway } from '../../helpers/worker-gateway.ts'

interface Response {
  readonly status?: number
  readonly body: string
}

const json = ['Content-Type', 'application/json']

/** Opens an upstream that responds as `responding` returns. Null: it never does. */
const openResponding = (responding: (request: ReceivedRequest) => Response | null): Promise<TestUpstream> =>
  openHttpUpstream((request, response) => {
    const result = responding(request)
    if (result !== null) response.writeHead(result.status ?? 200, json).end(result.body)
  })

const primaryResponse = (): Response | null => ({ body: '{"side":"primary"}' })

let primaryResponses: (request: ReceivedRequest) => Response | null = primaryResponse
let candidateStatus = 200
let primary: TestUpstream
let candidate: TestUpstream
let gateway: WorkerGateway
let auditLog: AuditLog
const ends: (() => void)[] = []

const settings = () => ({
  upstream: primary.url,
  listen: { trustedProxies: ['127.0.0.1'] },
  audit: { ...auditLog.settings, rotate: '8KiB' },
  shutdown: { wait: '0ms' },
})
const once = { operations: { 'financing.pre-approval': { idempotency: true } } }

beforeAll(async () => {
  primary = await openResponding((request) => primaryResponses(request))
  candidate = await openResponding(() => ({ status: candidateStatus, body: '{"side":"candidate"}' }))
  auditLog = createAuditLog((end) => void ends.push(() => void end()))
  gateway = await startWorkerGateway({ ...settings(), ...once, contract: { learn: true } }, [
    fileURLToPath(new URL('../../features/workers/short-timeouts.ts', import.meta.url)),
  ])
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([primary?.close(), candidate?.close()])
  for (const end of ends) end()
})

/** Reloads, however slow the machine is just now. */
const reload = async (edited: object): Promise<void> => {
  gateway.edit({ ...settings(), ...edited })
  await expect.poll(async () => (await gateway.ask('POST', '/reload')).status).toBe(200)
}

const askJson = async (method: 'GET' | 'POST', path: string, body?: object) =>
  JSON.parse((await gateway.ask(method, path, body && JSON.stringify(body))).body)

const pids = async (): Promise<readonly number[]> => (await gateway.status()).workers.map(({ pid }) => pid ?? 0)

const untilBothServe = (not: readonly number[] = []) => {
  const isServing = ({ state, pid }: ShownWorker) => state === 'serving' && !not.includes(pid ?? 0)
  const serving = async () => (await gateway.status()).workers.filter(isServing).length
  // Each question goes to all processes: not as often as may be, while one of them starts.
  return expect.poll(serving, { interval: 250 }).toBe(2)
}

/** Kills workers, and waits until their successors serve. */
const replace = async (killed: readonly number[]): Promise<void> => {
  for (const pid of killed) kill(pid, 'SIGKILL')
  await untilBothServe(killed)
}

const replaceFirst = async () => replace((await pids()).slice(0, 1))

/** Sends a request on a connection of its own: workers get connections in turn. */
const send = async (request: WireRequest) => {
  const { status, fields, body } = await call(gateway.port, request)
  return { status, fields, text: body.toString() }
}

/** Sends requests on one connection, one after another: one worker serves them all. Returns their statuses. */
const sendToOne = async (count: number, target: string): Promise<readonly number[]> => {
  const client = await rawClient(gateway.port)
  const statuses = (): readonly number[] =>
    [...client.received().matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  for (let sent = 1; sent <= count; sent++) {
    client.send(`GET ${target} HTTP/1.1\r\nHost: a\r\nX-Request-Id: r-${count}-${sent}\r\n\r\n`)
    await client.until(() => statuses().length === sent)
  }
  client.close()
  return statuses()
}

describe('what an idempotency key led to', () => {
  const keyed = { method: 'POST', target: '/financing/pre-approval', body: Buffer.from('abc') }
  const post = (key: string) => send({ ...keyed, fields: ['Idempotency-Key', key] })

  test('is remembered by both, however many requests come with the key, and shown and forgotten whichever is asked', async () => {
    const key = { key: 'k-1', operation: 'financing.pre-approval', address: '127.0.0.1' }
    const before = primary.begun()

    const responses = await Promise.all(Array.from({ length: 30 }, () => post('k-1')))
    const later = await post('k-1')
    const processed = primary.begun() - before
    const shown = await askJson('POST', '/idempotency/show', key)
    const { idempotency } = await askJson('GET', '/status')
    const forgotten = await askJson('POST', '/idempotency/forget', { ...key, yes: true })
    const gone = await askJson('POST', '/idempotency/show', key)
    await post('k-1')

    expect(responses.filter(({ status }) => status !== 409 && status !== 200)).toEqual([])
    expect([later.status, fieldValues(later.fields, 'idempotency-replayed')]).toEqual([200, ['true']])
    expect([shown.state, forgotten.state, gone.state]).toEqual(['done', 'done', 'absent'])
    expect(idempotency).toMatchObject({ store: 'memory', state: 'local', entries: 1, inProgress: 0, where: null })
    expect([processed, primary.begun() - before]).toEqual([1, 2])
  })

  drill('is unknown when its worker was killed', async () => {
    await reload(once)
    const asked = Promise.withResolvers<void>()
    primaryResponses = () => {
      asked.resolve()
      return null
    }

    const first = post('k-2').catch(() => 'cut off')
    await asked.promise
    for (const pid of await pids()) kill(pid, 'SIGKILL')
    primaryResponses = primaryResponse

    expect(await first).toBe('cut off')
    await expect.poll(async () => (await post('k-2').catch(() => null))?.text).toContain('outcome-unknown')
  })
})

describe('a contract', () => {
  const valuation = (nth: number): WireRequest => ({
    method: 'POST',
    target: `/valuation/score?mode=${nth % 2 === 0 ? 'fast' : 'full'}`,
    fields: [...json, 'X-Forwarded-For', `192.0.2.${nth}`],
    body: Buffer.from(JSON.stringify({ id: `asset-${nth}`, amount: 100 * nth, parts: [{ id: `part-${nth}` }] })),
  })
  const insights = (limit: number | string): WireRequest => ({
    target: `/market/insights?limit=${limit}`,
    fields: ['X-Forwarded-For', `198.51.100.${Number(limit) || 0}`],
  })
  const traffic = Array.from({ length: 10 }, (_, nth) => [valuation(nth), insights(nth)]).flat()

  const graded = '{"grade":"A","confidence":0.5}'

  const sendAll = async (requests: readonly WireRequest[]): Promise<readonly number[]> => {
    const statuses = []
    for (const each of requests) statuses.push((await send(each)).status)
    return statuses
  }

  const getDraft = () => askJson('GET', '/contract/draft')

  /** Waits until every request was learned, which happens after its response. */
  const draftOf = async (seen: Readonly<Record<string, string>>) => {
    const seenNow = async () => {
      const { paths } = await getDraft()
      return Object.keys(seen).map((path) => Object.values<{ 'x-seen'?: string }>(paths[path])[0]?.['x-seen'])
    }
    await expect.poll(seenNow).toEqual(Object.values(seen))
    return getDraft()
  }

  test('that two workers have learned is one draft, to which they hold the same traffic, and what breaks it is one report', async () => {
    let result = graded
    primaryResponses = () => ({ body: result })
    await sendAll(traffic)
    const draft = await draftOf({ '/valuation/score': '10 of 10', '/market/insights': '10 of 10' })
    const limits = { address: { rate: '1/min', burst: 4 } }
    await reload({ contract: { file: contractFile(draft), request: 'enforce', response: 'enforce' }, limits })

    const again = await sendAll(traffic)
    const bodies = ['{"id":"a","amount":"7","parts":[]}', '{"id":"a","amount":7}'].map((body) => Buffer.from(body))
    const breaking = [...bodies.map((body) => ({ ...valuation(1), body })), insights('ten'), insights('ten')]
    const broken = await sendAll(breaking)
    result = '{"grade":4,"confidence":0.5}'
    const brokenResponse = await sendAll([valuation(1)])
    result = graded

    expect(draft.paths['/valuation/score'].post.requestBody.content['application/json'].schema).toMatchObject({
      type: 'object',
      required: ['amount', 'id', 'parts'],
      properties: { amount: { type: 'integer' }, parts: { items: { required: ['id'] } } },
    })
    expect(new Set(again)).toEqual(new Set([200]))
    expect([...broken, ...brokenResponse]).toEqual([400, 400, 400, 400, 502])
    const report = async () => {
      const { contract, rows } = await askJson('GET', '/contract')
      const of = rows.find(({ operation }: { readonly operation: string }) => operation === 'market.insights')
      return [contract.operations['market.insights'].request, of]
    }
    await expect.poll(report).toMatchObject([
      { mode: 'enforce', checked: 12, broken: 2, rejected: 2 },
      { pointer: '/limit', count: 2 },
    ])
  })

  test('beside it, what one worker has served of an address, more than half of the limit, counts for the other', async () => {
    expect(await sendToOne(3, '/market/insights?limit=1')).toEqual([200, 200, 200])
    expect(await sendToOne(3, '/market/insights?limit=1')).toEqual([200, 429, 429])
    primaryResponses = primaryResponse
  })

  drill('that a worker had learned stays when it is killed, and its successor learns as well', async () => {
    await reload({})
    const learn = () => askJson('POST', '/contract/learn', { for: '1h' })
    const seen = (nth: number) => ({ '/valuation/score': `${nth} of ${nth}`, '/market/insights': `${nth} of ${nth}` })
    await learn()

    await sendAll(traffic)
    await draftOf(seen(10))
    // The primary asks ten times a second. A draft that comes after its question comes after the reply to it.
    const learnedBy = Date.now()
    await expect
      .poll(async () => {
        await getDraft()
        return Date.now() - learnedBy
      })
      .toBeGreaterThan(1000)
    await replaceFirst()
    await sendAll(traffic)

    await draftOf(seen(20))
    await learn()
    await replaceFirst()
    expect(await getDraft()).toMatchObject({ code: 'nothing-learned' })
  })
})

const first = signingKey('ES256', 'first')

/** Opens an issuer that publishes `published.text`. Returns the settings by which tokens of it open one operation. */
const openIssuer = async () => {
  const published = { text: jwks(first) }
  const server = await openHttpUpstream((_, response) => void response.end(published.text))
  ends.push(() => void server.close())
  const open = ['market.insights', 'leads.pipeline', 'compliance.audit-trail'] as const
  const settings = {
    auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: `${server.url}/jwks` } },
    clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: ['analysis.esg-grant'] }],
    operations: Object.fromEntries(open.map((id) => [id, { auth: 'none' }])),
  }
  return { server, published, settings }
}

/** Asks four times with a token, twice each worker. */
const statusesWith = (token: string, count = 4): Promise<readonly number[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const { status } = await send({ target: '/analysis/esg-grant', fields: ['Authorization', `Bearer ${token}`] })
      return status
    }),
  )
const all = (status: number): readonly number[] => Array(4).fill(status)

describeTests('a candidate', () => {
  const addresses = Array.from({ length: 20 }, (_, index) => `192.0.2.${index}`)

  /** Asks as each address; returns which side has responded to each. */
  const askAll = (target: string): Promise<readonly string[]> =>
    Promise.all(
      addresses.map(async (address) => {
        const { text } = await send({ target, fields: ['X-Forwarded-For', address] })
        return JSON.parse(text).side
      }),
    )
  const expectedAt = (share: number): readonly string[] =>
    addresses.map((address) => (clientBucket('market', { address }) < bucketsOfShare(share) ? 'candidate' : 'primary'))

  const order = (body: object, group = 'market') => gateway.ask('POST', '/shift', JSON.stringify({ group, ...body }))
  const shownCandidate = async (group: string) => (await askJson('GET', '/status')).upstreams[group].candidate
  const share = async (): Promise<number> => (await shownCandidate('market')).shift.share

  const takebacks = () => gateway.lines.filter(({ msg }) => msg === 'shift taken back')
  const askUntilTakenBack = async (times: number): Promise<void> => {
    candidateStatus = 500
    const asked = async () => (await askAll('/compliance/audit-trail')) && takebacks().length
    await expect.poll(asked, { interval: 300 }).toBe(times)
    candidateStatus = 200
  }

  const comparison = async () => (await askJson('GET', '/shadow')).comparisons[0]

  const configure = (more: object = {}) => {
    const endpoints = [primary.url]
    const withCandidate = (more: object) => ({ endpoints, candidate: { endpoints: [candidate.url], ...more } })
    const shadow = { sample: '100%' }
    const upstreams = {
      market: withCandidate({ steps: { shares: ['20%', '60%'], every: '1h' } }),
      leads: withCandidate({ shadow }),
      compliance: withCandidate({ share: '50%', guard: { minRequests: 20, window: '10s' }, shadow }),
      risk: {
        ...withCandidate({ endpoints: ['http://127.0.0.1:9'] }),
        healthCheck: { path: '/health', interval: '100ms', unhealthyAfter: 1, healthyAfter: 1 },
      },
    }
    return reload({ upstreams, ...more })
  }

  let tokens: Awaited<ReturnType<typeof openIssuer>>

  test('has the same clients in every worker, also when an order is confirmed', async () => {
    tokens = await openIssuer()
    await configure(tokens.settings)
    expect(await askAll('/market/insights')).toEqual(expectedAt(0.2))
    expect((await order({ to: '45%' })).status).toBe(200)
    for (let i = 0; i < 2; i++) expect(await askAll('/market/insights')).toEqual(expectedAt(0.45))
  })

  test('is compared in one report, whichever worker has compared', async () => {
    await sendToOne(3, '/leads/pipeline')
    await sendToOne(2, '/leads/pipeline')

    // The same two values are one pair in both: their digests have one key.
    await expect.poll(comparison).toMatchObject({
      verdict: '5 compared, none equal; /side differs in 5',
      recent: { compared: 5, equal: 0 },
      rows: [{ pointer: '/side', count: 5, recent: 5, requestId: 'r-2-2', pairs: [{ count: 5 }] }],
    })
  })

  test('is taken back in all workers by what each counts, and gets no copies either', async () => {
    await askUntilTakenBack(1)
    const begun = candidate.begun()

    expect(new Set(await askAll('/compliance/audit-trail'))).toEqual(new Set(['primary']))
    expect(candidate.begun()).toBe(begun)
  })

  test('is what it was in a worker that replaces another, and is judged by what that counts', async () => {
    const state = async () => (await shownCandidate('risk')).endpoints[0].state
    await expect.poll(state).toBe('down')
    await order({ pause: true })
    await order({ resume: true }, 'compliance')
    const since = (await comparison()).since
    expect(await statusesWith(signToken(first))).toEqual(all(200))
    await tokens.server.close()

    await replaceFirst()
    const stateThen = await state()
    const sides = await askAll('/market/insights')
    await askUntilTakenBack(2)

    expect(stateThen).toBe('down')
    expect(sides).toEqual(expectedAt(0.45))
    const { shift } = await shownCandidate('market')
    expect(shift).toMatchObject({ step: { reached: 1, of: 2 }, paused: { until: null } })
    expect(await comparison()).toMatchObject({ since, rows: [{ count: 5, pairs: [{ count: 5 }] }] })
  })

  test('beside it, while the issuer of tokens is down, that worker takes the tokens that the one before it took, and no others', async () => {
    const forged = { ...signingKey('ES256', 'first'), kid: 'first' }

    expect(await statusesWith(signToken(first))).toEqual(all(200))
    expect(await statusesWith(signToken(forged))).toEqual(all(401))
    expect(await statusesWith(signToken(first, claims({ exp: 1 })))).toEqual(all(401))
    expect(await statusesWith(signToken(signingKey('ES256', 'unknown')))).toEqual(all(503))
  })

  test('is left by an abort that waits for no worker that hangs, and the order before it waits no longer either', async () => {
    const [first = 0] = await pids()
    await order({ resume: true })
    // On one connection, so that they come in this order.
    const post = (body: object): string => {
      const text = JSON.stringify({ group: 'market', ...body })
      return `POST /shift HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${text.length}\r\n\r\n${text}`
    }

    kill(first, 'SIGSTOP')
    const client = await rawClient(gateway.adminPort)
    client.send(post({ to: '50%' }) + post({ abort: true }))
    const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
    const received = await client.until((text) => statuses(text).length === 2)
    client.close()
    kill(first, 'SIGCONT')
    await untilBothServe()

    expect(statuses(received)).toEqual([200, 200])
    expect(await share()).toBe(0)
  })
})

drill('the keys that one worker has fetched last are those of all successors, and as old as they are', async () => {
  const second = signingKey('ES256', 'second')
  const { server, published, settings } = await openIssuer()
  await reload(settings)
  published.text = jwks(second)
  expect(await statusesWith(signToken(second), 1)).toEqual([200])
  await server.close()
  const closedAt = Date.now()

  await replace(await pids())

  expect(await statusesWith(signToken(second))).toEqual(all(200))
  // The set that a worker has fetched last does not hold the first key any more.
  expect(await statusesWith(signToken(first))).toEqual(all(503))
  const { jwt } = (await gateway.status()).tokens
  expect(jwt).toMatchObject({ keys: 1, error: expect.any(String), where: null })
  expect(Date.parse(jwt?.lastSuccess ?? '')).toBeLessThanOrEqual(closedAt)
})

drill('under load, with a worker killed, files rotated by size and one moved, the audit log is whole', async () => {
  const [total, atOnce] = [200, 8]
  const [pid = 0] = await pids()

  const disturb = (done: number): void => {
    if (done === total * 0.3) kill(pid, 'SIGKILL')
    if (done !== total * 0.6) return
    renameSync(auditLog.file, `${auditLog.file}.1`) // as a tool that rotates logs does
    gateway.signal('SIGHUP')
  }
  const { responded, failed } = await identifiedLoad(() => gateway.port, total, atOnce, disturb)
  gateway.signal('SIGTERM')
  await gateway.ended

  // The checkpoints in the main log, as they are given to the command.
  const checkpoints = gateway.lines.filter(({ msg }) => msg === 'audit checkpoint')
  const verified = await auditLog.verify(checkpoints.map(({ count, hash }) => `${count}:${hash}`))
  const recorded = auditLog.lines().flatMap(({ requestId = '' }) => (requestId.startsWith('load-') ? [requestId] : []))
  expect(verified).toEqual({ code: 0, errors: '' })
  expect(failed.length).toBeLessThanOrEqual(atOnce)
  // What the worker had responded to in its last turn, and not handed over.
  expect(responded.filter((id) => !recorded.includes(id)).length).toBeLessThanOrEqual(atOnce)
  expect(recorded).toHaveLength(new Set(recorded).size)
  expect(auditLog.files().length).toBeGreaterThanOrEqual(4)
})
