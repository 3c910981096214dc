import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { WholeBody } from '../../../../src/core/exchange/bodies/buffered-bodies.ts'
import { ResponseBodyQueue } from '../../../../src/core/exchange/bodies/response-bodies.ts'
import type { RequestBody } from '../../../../src/core/exchange/body.ts'
import type { Exchange, Handler, Layer, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import type { FailureKind } from '../../../../src/core/exchange/failures/failure-table.ts'
import type { CandidateConfig } from '../../../../src/features/candidate/config/candidate.ts'
import {
  createMarkerRemover,
  createShadowFields,
  openShadow,
  type ShadowOptions,
  type ShadowResources,
  shadowLayer,
} from '../../../../src/features/candidate/layers/shadow.ts'
import { createShadowCopies } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import type {
  OnShadowPair,
  ShadowedRequest,
  ShadowResponse,
} from '../../../../src/features/candidate/observe/compare/comparison.ts'
import { createDeferredWork } from '../../../../src/features/contract/check-queue.ts'
import { fakeBody, fakeExchange, untilAborted } from '../../../helpers/exchange.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const kib = 1024

/** A response of which the whole body has come. */
const sendResponse = (text = 'ok', status = 200, fields: readonly string[] = []): ProxyResponse => {
  const body = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  if (text !== '') body.push(Buffer.from(text))
  body.end()
  return { status, reason: '', fields, body }
}

/** A body of a response that a test moves along by hand. */
const streamed = () => {
  const [pause, resume, cancel] = [vi.fn(), vi.fn(), vi.fn()]
  const body = new ResponseBodyQueue({ pause, resume, cancel })
  return {
    body,
    pause,
    resume,
    cancel,
    push(count: number): void {
      for (let i = 0; i < count; i++) body.push(Buffer.alloc(kib, 'x'))
    },
    response: (status = 200): ProxyResponse => ({ status, reason: '', fields: [], body }),
  }
}

const sending =
  (respond: (exchange: Exchange) => ProxyResponse | Promise<ProxyResponse> = () => sendResponse()): Handler =>
  async (exchange) => {
    exchange.onSent?.()
    return respond(exchange)
  }

const responding = (...of: Parameters<typeof sendResponse>): Handler => sending(() => sendResponse(...of))

const failing = (kind: FailureKind): Handler =>
  sending(() => {
    throw new GatewayError(kind)
  })

interface Pair {
  /** The bytes are copied: they are freed when the callback returns. */
  readonly primary: ShadowResponse
  readonly candidate: ShadowResponse
  readonly request: ShadowedRequest
}

interface Shadowing extends Partial<Omit<ShadowOptions, 'onPair' | 'copies'>> {
  readonly concurrency?: number
  readonly maxBytes?: number
  /** Null: responses are not compared. */
  readonly onPair?: OnShadowPair | null
}

/** Creates the layer with a candidate that notes what it gets. */
const shadowing = ({ concurrency = 10, maxBytes = 1024 * kib, onPair, send = sending(), ...more }: Shadowing = {}) => {
  const pairs: Pair[] = []
  const copied: Exchange[] = []
  const errors: unknown[] = []
  const deferred = () => createDeferredWork((error) => errors.push(error))
  const copies = createShadowCopies(deferred(), deferred())
  copies.applyBounds({ concurrency, maxBytes })
  const keep = ({ body, ...rest }: ShadowResponse): ShadowResponse => ({
    ...rest,
    body: { ...body, bytes: body.bytes && Buffer.from(body.bytes) },
  })
  const note: OnShadowPair = (primary, candidate, request) => {
    pairs.push({ primary: keep(primary), candidate: keep(candidate), request })
  }
  const layer = shadowLayer({
    ...{ sample: 1, timeout: 30_000, maxBody: 100 * kib, requestIdField: 'x-request-id' },
    ...{ marker: 'X-Shadow', credentials: 'remove' as const, credentialFields: [], keptFields: [], repeats: null },
    isUp: () => true,
    ...more,
    copies,
    send: noting(copied, send),
    onPair: onPair === undefined ? note : onPair,
  })
  /** The copies under way, and the memory that they take. */
  const held = () => [copies.report().underWay, copies.room.used]
  return { layer, copies, pairs, copied, errors, held, counts: copies.counts }
}

const noting =
  (list: Exchange[], send: Handler): Handler =>
  (exchange) => {
    list.push(exchange)
    return send(exchange)
  }

/** Takes a response as a client does; resolves to the body, or to how it failed. */
const take = ({ body }: ProxyResponse): Promise<string> =>
  new Promise((resolve) => {
    const whole = body.takeBuffered()
    if (whole !== null) return resolve(whole.toString())
    let text = ''
    body.consume({
      data: (chunk) => {
        text += chunk.toString()
        return true
      },
      end: () => resolve(text),
      fail: ({ kind }) => resolve(kind),
    })
  })

/** Sends one request to a slow primary and a fast candidate, each of which the test moves along. */
const openStreams = async (options: Shadowing = {}) => {
  const [primary, candidate] = [streamed(), streamed()]
  const own = shadowing({ ...options, send: sending(() => candidate.response()) })
  const text = take(await own.layer(sending(() => primary.response()))(fakeExchange()))
  await settled()
  return { ...own, primary, candidate, text }
}

/** Waits until everything is over that needs no more than turns of the event loop. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await setImmediate()
}

/** Sends one request, takes the response as a client does, and waits until all is over; returns the body. */
const serve = async (layer: Layer, primary: Handler = sending(), request = fakeExchange()): Promise<string> => {
  const text = await take(await layer(primary)(request))
  await settled()
  return text
}

const post = (body: RequestBody) => fakeExchange({ operation: 'valuation.score', body })

const bodyOf = async ({ body }: Exchange): Promise<string> => Buffer.concat([...(await body.read())]).toString()

describe('a request', () => {
  test('a copy is the request, marked and without credentials', async () => {
    const { layer, copied, counts } = shadowing()
    const exchange = fakeExchange({ query: '?a=%20b', fields: ['Authorization', 'Bearer x', 'X-A', '1'] })
    exchange.trace = { traceId: '0'.repeat(32), attempt: () => null }

    const text = await serve(layer, responding('from the primary'), exchange)

    expect(text).toBe('from the primary')
    const sent = { operation: { id: 'market.insights' }, query: '?a=%20b', fields: ['X-A', '1', 'X-Shadow', '1'] }
    expect(copied).toMatchObject([{ ...sent, onInterim: null, trace: null }])
    expect(exchange.fields).toEqual(['Authorization', 'Bearer x', 'X-A', '1'])
    expect(counts).toMatchObject({ sent: 1, pairs: 1, outcomes: { '2xx': 1 } })
  })

  test('requests of clients on the candidate are not copied, whichever side serves them', async () => {
    const { layer, copied } = shadowing()
    for (const side of ['primary', 'candidate', 'candidate'] as const)
      await serve(layer, sending(), Object.assign(fakeExchange(), { side }))

    expect(copied).toHaveLength(1)
  })

  test('the request is sent before its copy, and no client waits', async () => {
    const never = new Promise<ProxyResponse>(() => {})
    const { layer, copied } = shadowing({ send: sending(() => never) })
    const countCopied = sending(() => sendResponse(`${copied.length} copied`))

    expect([await serve(layer, countCopied), copied.length]).toEqual(['0 copied', 1])
  })

  test('requests beyond the sample are not copied', async () => {
    const random = vi.spyOn(Math, 'random')
    const { layer, counts } = shadowing({ sample: 0.25 })

    for (const drawn of [0, 0.2499, 0.25, 0.9]) {
      random.mockReturnValueOnce(drawn)
      await serve(layer)
    }

    expect(counts.sent).toBe(2)
  })

  test('a request that the primary does not get is not copied', async () => {
    const { layer, counts, held } = shadowing()
    const rejected: Handler = () => Promise.reject(new GatewayError('circuit-open'))
    await expect(serve(layer, rejected)).rejects.toMatchObject({ kind: 'circuit-open' })
    await settled()

    expect(counts).toMatchObject({ sent: 0, pairs: 0 })
    expect(held()).toEqual([0, 0])
  })

  test('a retried request has one copy, with its body once', async () => {
    const { layer, copied } = shadowing()
    const twice = sending((exchange) => {
      exchange.onSent?.()
      return sendResponse()
    })

    await serve(layer, twice, post(new WholeBody(Buffer.from('{"a":1}'))))

    expect(await Promise.all(copied.map(bodyOf))).toEqual(['{"a":1}'])
  })
})

describe('the pair', () => {
  test('a pair has both responses and the request id', async () => {
    const fields = ['Content-Type', 'application/json', 'X-B', '2']
    const { layer, pairs, held } = shadowing({ send: responding('{"a":2}', 201, fields) })

    await serve(layer, responding('{"a":1}', 200, fields), fakeExchange({ fields: ['X-Request-Id', 'id-7'] }))

    const side = (status: number, text: string) => {
      const body = { length: 7, bytes: Buffer.from(text), sha256: null }
      return { headMs: expect.any(Number), fields, failure: null, status, body }
    }
    const request = { operation: 'market.insights', requestId: 'id-7' }
    expect(pairs).toEqual([{ primary: side(200, '{"a":1}'), candidate: side(201, '{"a":2}'), request }])
    expect(held()).toEqual([0, 0])
  })

  test('a pair has hashes of bodies longer than maxBody', async () => {
    const { layer, pairs } = shadowing({ maxBody: kib, send: responding('y'.repeat(4 * kib)) })
    expect(await serve(layer, responding('x'.repeat(3 * kib)))).toHaveLength(3 * kib)

    const hashed = (text: string) => ({ body: { length: text.length, bytes: null, sha256: hash('sha256', text) } })
    expect(pairs).toMatchObject([{ primary: hashed('x'.repeat(3 * kib)), candidate: hashed('y'.repeat(4 * kib)) }])
  })

  test('a pair says how a side failed', async () => {
    const { layer, pairs, counts } = shadowing({ send: failing('reset-before-headers') })
    await expect(serve(layer, failing('headers-timeout'))).rejects.toMatchObject({ kind: 'headers-timeout' })
    await settled()

    const candidate = { status: null, headMs: null, failure: 'reset-before-headers' }
    expect(pairs).toMatchObject([{ primary: { status: null, failure: 'headers-timeout' }, candidate }])
    expect(counts.outcomes.failed).toBe(1)
  })

  test.each([
    ['a client that leaves', true],
    ['a response that is not wanted', false],
  ])('is not handed on after %s', async (_, isRead) => {
    const { layer, counts, held } = shadowing()
    const { body, response } = streamed()

    const handedOn = await layer(sending(() => response()))(fakeExchange())
    body.push(Buffer.from('a part'))
    if (isRead) void take(handedOn)
    if (isRead) body.fail(new GatewayError('client-gone'))
    else handedOn.body.discard()
    await settled()

    expect(counts).toMatchObject({ sent: 1, pairs: 0, outcomes: { '2xx': 1 } })
    expect(held()).toEqual([0, 0])
  })

  test('a comparison that throws harms no exchange', async () => {
    const defect = new Error('a defect')
    const onPair = () => {
      throw defect
    }
    const { layer, held, errors } = shadowing({ onPair })

    expect([await serve(layer), errors, held()]).toEqual(['ok', [defect], [0, 0]])
  })
})

const streaming = (length: number | null = null) => ({ ...fakeBody(length), replayable: false })

test('a body that streams is in the copy, which goes out when all of it has come', async () => {
  const { layer, copied } = shadowing()
  const body = streaming()
  const { promise, resolve } = Promise.withResolvers<ProxyResponse>()

  const served = layer(sending(() => promise))(post(body))
  body.onData?.(Buffer.from('one '))
  await settled()
  const copiedBefore = copied.length
  body.onData?.(Buffer.from('two'))
  body.onData?.(null)
  resolve(sendResponse())
  await take(await served)
  await settled()

  expect([copiedBefore, await Promise.all(copied.map(bodyOf))]).toEqual([0, ['one two']])
})

describe('goes to the primary alone', () => {
  type Come = (body: ReturnType<typeof streaming>, own: ReturnType<typeof shadowing>) => void
  const withToken = () => fakeExchange({ query: '?a=1&%61ccess_token=secret' })
  const small = () => post(new WholeBody(Buffer.from('{"a":1}')))

  test.each<[string, string, Shadowing, () => Exchange]>([
    ['while no endpoint of the candidate takes it', 'no-endpoint', { isUp: () => false }, fakeExchange],
    ['whose body finds no room', 'no-room', { maxBytes: 3 }, small],
    ['with a token in its query', 'credential-in-query', {}, withToken],
  ])('a request %s: %s', async (_, reason, options, request) => {
    const { layer, counts, pairs } = shadowing(options)
    await serve(layer, sending(), request())

    expect(counts).toMatchObject({ sent: 0, dropped: { [reason]: 1 } })
    expect(pairs).toEqual([])
  })

  test('with credentials: forward, a request with a token in its query is copied', async () => {
    const { layer, counts } = shadowing({ credentials: 'forward' })
    await serve(layer, sending(), withToken())

    expect(counts.sent).toBe(1)
  })

  const tooLong: Come = ({ onData }) => {
    for (const text of ['x', 'y']) onData?.(Buffer.from(text.repeat(60 * kib)))
    onData?.(null)
  }
  const stopped: Come = ({ onData }, { copies }) => {
    onData?.(Buffer.from('a part'))
    copies.applyBounds(null)
    onData?.(null)
  }
  const unfinished: Come = ({ onData }) => {
    onData?.(Buffer.from('a part'))
    throw new GatewayError('client-gone')
  }

  test.each<[string, string, Come, number?]>([
    ['declares more than is copied', 'body-too-large', ({ onData }) => onData?.(null), 101 * kib],
    ['streams more than is copied', 'body-too-large', tooLong],
    ['has not come when the shift is stopped', 'stopped', stopped],
    ['does not come to its end', 'body-unfinished', unfinished],
  ])('a body that %s: %s', async (_, reason, come, length) => {
    const own = shadowing()
    const body = streaming(length)
    const primary = sending(() => {
      come(body, own)
      return sendResponse()
    })

    await serve(own.layer, primary, post(body)).catch(() => {})
    await settled()

    expect(own.counts).toMatchObject({ sent: 0, dropped: { [reason]: 1 } })
    expect([own.pairs, own.held()]).toEqual([[], [0, 0]])
  })

  test('a buffered request whose client leaves is counted as dropped once', async () => {
    const { layer, counts } = shadowing()
    const { promise, reject } = Promise.withResolvers<readonly Buffer[]>()
    const body: RequestBody = { ...streaming(), replayable: true, read: () => promise }

    await expect(serve(layer, failing('client-gone'), post(body))).rejects.toMatchObject({ kind: 'client-gone' })
    reject(new GatewayError('client-gone'))
    await settled()

    expect(counts).toMatchObject({ sent: 0, dropped: { 'body-unfinished': 1 } })
  })
})

describe('what bounds copies', () => {
  const pouring = (count: number, isWhole = false) => {
    const { body, push, response } = streamed()
    queueMicrotask(() => push(count))
    if (isWhole) void setImmediate().then(() => body.end())
    return response()
  }

  test.each<[string, Parameters<typeof sending>[0], number, number, number]>([
    ['that cannot be reached gets 5', () => Promise.reject(new GatewayError('connect-failed')), 2, 100, 5],
    ['that pours gets 5', () => pouring(102), 2, 100, 5],
    ['that responds with errors gets 8', () => sendResponse('broken', 500), 2, 100, 8],
    ['with a little more than the primary, and than is kept, gets 8', () => pouring(102, true), 99 * kib, 100, 8],
    ['whose body is as long as that of the primary gets 8', () => pouring(70), 70 * kib, 4, 8],
  ])('of eight copies, a candidate %s; after a reload one more', async (_, respond, length, maxBody, sent) => {
    const { layer, counts, copies } = shadowing({ maxBody: maxBody * kib, send: sending(respond) })
    const primary = responding('x'.repeat(length))

    for (let i = 0; i < 8; i++) await serve(layer, primary)
    const before = [counts.sent, counts.dropped.backoff]
    copies.applyBounds({ concurrency: 10, maxBytes: 1024 * kib })
    await serve(layer, primary)

    expect([before, counts.sent]).toEqual([[sent, 8 - sent], sent + 1])
  })

  test('responses that are not compared take no room', async () => {
    const { primary, candidate, text, held, counts } = await openStreams({ onPair: null })

    for (const { push } of [primary, candidate]) push(20)
    const before = held()
    for (const { body } of [primary, candidate]) body.end()
    await text
    await settled()

    expect([...before, ...held()]).toEqual([1, 0, 0, 0])
    expect(counts).toMatchObject({ sent: 1, pairs: 0, outcomes: { '2xx': 1 } })
  })

  test('copies beyond shadow.concurrency are dropped', async () => {
    const ends: (() => void)[] = []
    const send = sending(() => new Promise((resolve) => ends.push(() => resolve(sendResponse()))))
    const { layer, counts, held } = shadowing({ concurrency: 2, send })

    for (let i = 0; i < 5; i++) await serve(layer)
    const whenFull = [held()[0], counts.sent, counts.dropped.full]
    for (const end of ends) end()
    await settled()
    await serve(layer)

    expect(whenFull).toEqual([2, 2, 3])
    expect(counts).toMatchObject({ sent: 3, pairs: 2 })
  })

  test.each([
    ['is cut where it is four times as long as that of the primary', 'x'.repeat(20 * kib), 81],
    ['is cut at 64 KiB where the primary has little to say', 'short', 65],
    ['is cut where it is four times as long as one that is longer than is kept', 'x'.repeat(101 * kib), 405],
  ])('a response without an end %s', async (_, ofPrimary, chunks) => {
    const endless = streamed()
    const { layer, pairs } = shadowing({ send: sending(() => endless.response()) })

    await serve(layer, responding(ofPrimary))
    endless.push(chunks - 1)
    const early = endless.cancel.mock.calls.length
    endless.push(1)
    await settled()

    expect([early, endless.cancel.mock.calls.length]).toEqual([0, 1])
    const body = { length: chunks * kib, bytes: null, sha256: null }
    expect(pairs).toMatchObject([{ candidate: { status: 200, failure: null, body } }])
  })

  test('a response of the candidate that is far ahead waits for that of the primary', async () => {
    const bounds = { maxBody: 10_000 * kib, maxBytes: 100_000 * kib }
    const { primary: slow, candidate: fast, text, pairs } = await openStreams(bounds)

    fast.push(65)
    const [paused, resumed] = [fast.pause.mock.calls.length, fast.resume.mock.calls.length]
    slow.push(20)
    const resumedAfter = fast.resume.mock.calls.length
    slow.push(45)
    for (const { body } of [slow, fast]) body.end()
    await settled()

    expect(await text).toHaveLength(65 * kib)
    expect(paused).toBe(1)
    expect(resumedAfter).toBeGreaterThan(resumed)
    expect(pairs[0]?.candidate.body).toEqual(pairs[0]?.primary.body)
  })

  test("a response that is cut at the end of the primary's makes one pair", async () => {
    const { primary: slow, candidate: fast, text, pairs, counts, errors } = await openStreams()

    fast.push(65)
    slow.body.push(Buffer.from('short'))
    slow.body.end()
    await settled()

    expect(await text).toBe('short')
    expect([counts.pairs, errors]).toEqual([1, []])
    expect(pairs.map(({ primary }) => primary.body.bytes?.toString())).toEqual(['short'])
  })

  test('a candidate that takes too long is given up, and has failed', async () => {
    const { layer, pairs, copied, held } = shadowing({ timeout: 5000, send: untilAborted })

    await serve(layer)
    vi.advanceTimersByTime(4999)
    await settled()
    const before = held()[0]
    vi.advanceTimersByTime(1)
    await settled()

    expect([[before, held()[0]], copied[0]?.aborted?.kind]).toEqual([[1, 0], 'deadline-exceeded'])
    expect(pairs).toMatchObject([{ candidate: { status: null, failure: 'deadline-exceeded' } }])
  })

  test('a client that reads for hours costs a copy no more than its time', async () => {
    const { layer, counts, held } = shadowing({ timeout: 5000 })
    const { body, response } = streamed()

    const text = take(await layer(sending(() => response()))(fakeExchange()))
    body.push(Buffer.from('slow '))
    await settled()
    const before = held()
    vi.advanceTimersByTime(5000)
    const after = held()
    body.push(Buffer.from('end'))
    body.end()

    expect([before[0], ...after]).toEqual([1, 0, 0])
    expect(before[1]).toBeGreaterThan(0)
    expect(await text).toBe('slow end')
    expect(counts).toMatchObject({ sent: 1, pairs: 0, outcomes: { '2xx': 1 } })
  })

  test('a process that stops cuts copies, and begins no more', async () => {
    const { layer, counts, copies, copied, held } = shadowing({ send: untilAborted })
    await serve(layer)
    copies.stop()

    expect([await serve(layer), copied.map(({ aborted }) => aborted?.kind)]).toEqual(['ok', ['overloaded']])
    expect(held()).toEqual([0, 0])
    expect(counts).toMatchObject({ sent: 1, pairs: 0, dropped: { stopped: 1 } })
  })
})

describe('the fields of a copy', () => {
  const marked = ['X-Shadow', '1']
  const credentials = [
    'Authorization authorization AUTHORIZATION Proxy-Authorization Cookie DPoP X-Api-Key X_Api_Key x-api_key',
    'X-Auth-Token X-Amz-Security-Token Client-Cert Client-Cert-Chain client_cert X-Forwarded-Client-Cert',
    'X-SSL-Client-Cert X-Amzn-Mtls-Clientcert-Leaf X-Forwarded-Tls-Client-Cert-Info X-Forwarded-Access-Token',
    'X-Amzn-Oidc-Data X_Amzn_Oidc_Identity X-Goog-Iap-Jwt-Assertion X-MS-Client-Principal X-Session-Id',
    'X-Partner-Token X-Signature X-Userinfo X-Partner X-Client-Id',
  ].flatMap((names) => names.split(' '))
  const options = {
    ...{ marker: 'X-Shadow', credentials: 'remove' as const },
    ...{ credentialFields: ['X-Partner', 'x-client-id'], keptFields: ['x-transaction-key'] },
  }
  const forwarding = createShadowFields({ ...options, credentials: 'forward' })

  test('a copy has no credential fields, unless credentials are forwarded', () => {
    const fields = ['Accept', 'a', ...credentials.flatMap((name) => [name, 'secret']), 'Via', '1.1 x']

    expect(createShadowFields(options)(fields)).toEqual(['Accept', 'a', 'Via', '1.1 x', ...marked])
    expect(forwarding(fields)).toEqual([...fields, ...marked])
  })

  test('a copy has all other fields in their order, with the request id', () => {
    const names = ['accept', 'Accept', 'X-Request-Id', 'Idempotency-Key', 'X_Idempotency_Key', 'x_transaction_key']
    const fields = [...names, 'X-Transaction-Key'].flatMap((name, at) => [name, `${at}`])

    expect(createShadowFields(options)(fields)).toEqual([...fields, ...marked])
  })

  test.each(['X-Shadow', 'x-shadow', 'X_Shadow'])('have no %s of the client, nor has its request', (name) => {
    const fields = ['A', '1', name, '0', 'B', '2', name, '1']

    expect(forwarding(fields)).toEqual(['A', '1', 'B', '2', ...marked])
    expect(createMarkerRemover('X-Shadow')(fields)).toEqual(['A', '1', 'B', '2'])
  })

  test('fields without the marker stay the same list', () => {
    const fields = ['A', 'X-Shadow', 'X-Shadows', '1']

    expect(createMarkerRemover('X-Shadow')(fields)).toBe(fields)
  })
})

test.each([true, false])('copies go to a candidate while an endpoint of it takes requests: %s', (takesRequests) => {
  const candidate = { upstream: {}, shadow: { sample: 1, concurrency: 1, compare: null } }
  const running = { members: [{ receivesTraffic: true, takesRequests, health: { isDown: false } }] }
  const resources = { sides: { primary: running, candidate: running }, open: () => running, comparison: null }
  const shadow = openShadow(candidate as unknown as CandidateConfig, resources as unknown as ShadowResources)

  expect(shadow?.isUp()).toBe(takesRequests)
})

describe('requests that the primary gets twice, in place of a copy, so that its noise is learned', () => {
  // So long after the first the second one goes out.
  const waitMs = 1100

  /** Creates the layer, and notes what the primary gets again; `again` sends to it once more. */
  const repeating = (again: Handler = responding('again'), { isTaken = true, concurrency = 10 } = {}) => {
    const [repeated, counted, learned]: readonly [Exchange[], string[], string[]] = [[], [], []]
    const repeats: ShadowOptions['repeats'] = {
      wants: () => isTaken,
      onSend: (operation) => void counted.push(operation),
      afterMs: waitMs,
      send: noting(repeated, again),
      isUp: () => true,
      onPair: ({ body }, second) => void learned.push(`${body.bytes}, ${second.failure ?? second.body.bytes}`),
    }
    return { ...shadowing({ concurrency, repeats }), repeated, counted, learned }
  }
  const never: Handler = () => new Promise(() => {})
  const reject: Handler = () => Promise.reject(new GatewayError('connect-failed'))
  const fields = ['Authorization', 'Bearer a', 'X-A', '1', 'x_shadow', '0']

  const pass = async (ms = waitMs): Promise<void> => {
    vi.advanceTimersByTime(ms)
    await settled()
  }

  const exchangeOne = async (layer: Layer, query = ''): Promise<void> => {
    await serve(layer, responding('once'), fakeExchange({ fields, query }))
    await pass()
  }

  test('a repeat goes to the primary with all fields and the marker, and is counted apart', async () => {
    const { layer, copies, copied, repeated, counted, learned } = repeating()

    await exchangeOne(layer, '?access_token=a')

    expect(copied).toEqual([])
    const sent = ['Authorization', 'Bearer a', 'X-A', '1', 'X-Shadow', '1']
    expect(repeated).toMatchObject([{ fields: sent, query: '?access_token=a' }])
    expect([learned, counted]).toEqual([['once, again'], ['market.insights']])
    expect(copies.report()).toMatchObject({ sent: 0, pairs: 0, repeated: 1, underWay: 0, outcomes: { '2xx': 0 } })
  })

  test('a repeat is sent after 1.1 s, so that times in whole seconds differ', async () => {
    const { layer, repeated, held } = repeating()
    await serve(layer, responding('once'))
    await pass(waitMs - 1)
    const before = [repeated.length, held()[0]]
    await pass(1)

    expect([...before, repeated.length, held()[0]]).toEqual([0, 1, 1, 0])
  })

  test('a repeat is dropped if the primary never got the first request', async () => {
    const { layer, counted } = repeating()
    await layer(reject)(fakeExchange({ fields })).catch(() => {})
    await pass()

    expect(counted).toEqual([])
  })

  test('at most four repeats wait or are in flight', async () => {
    const { layer, copies, repeated } = repeating(never)
    await Promise.all(Array.from({ length: 9 }, () => serve(layer, responding('once'), fakeExchange({ fields }))))
    await pass()

    expect([repeated.length, copies.repeating()]).toEqual([4, 4])
  })

  test('repeats share the bounds of copies, and end with the process', async () => {
    const { layer, copies, repeated } = repeating(never, { concurrency: 1 })

    await exchangeOne(layer)
    await exchangeOne(layer)
    const { repeated: counted, underWay, dropped } = copies.report()
    copies.stop()

    expect([repeated.length, counted, underWay, dropped.full]).toEqual([1, 1, 1, 0])
    expect([repeated[0]?.aborted?.kind, copies.report().underWay]).toEqual(['overloaded', 0])
  })

  test('failed repeats teach nothing, and count as no failure of the candidate', async () => {
    const { layer, copies, learned } = repeating(failing('reset-before-headers'))
    for (let n = 0; n < 6; n++) await exchangeOne(layer)

    expect(learned).toEqual(Array(6).fill('once, reset-before-headers'))
    expect([copies.backoff.take(), copies.backoff.take()]).toEqual([true, true])
  })

  test('a request that is not repeated is copied', async () => {
    const { layer, repeated, learned, pairs } = repeating(undefined, { isTaken: false })
    await exchangeOne(layer)

    expect([repeated, learned]).toEqual([[], []])
    expect(pairs).toHaveLength(1)
  })
})
