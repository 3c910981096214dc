import { createHash } from 'node:crypto'
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
  markerLayer,
  openShadow,
  type ShadowOptions,
  type ShadowResources,
  shadowLayer,
} from '../../../../src/features/candidate/layers/shadow.ts'
import { createShadowCopies, type ShadowCopies } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import type {
  OnShadowPair,
  ShadowAnswer,
  ShadowedRequest,
} from '../../../../src/features/candidate/observe/compare/comparison.ts'
import { createDeferredWork } from '../../../../src/features/contract/check-queue.ts'
import { fakeBody, fakeExchange } from '../../../helpers/exchange.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const kib = 1024

/** A response of which the whole body has come. */
const answer = (text = 'ok', status = 200, fields: readonly string[] = []): ProxyResponse => {
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
    /** Has so many kibibytes come. */
    push(count: number): void {
      for (let i = 0; i < count; i++) body.push(Buffer.alloc(kib, 'x'))
    },
    response: (status = 200): ProxyResponse => ({ status, reason: '', fields: [], body }),
  }
}

/** A handler of an upstream that gets each request. */
const sending =
  (respond: (exchange: Exchange) => ProxyResponse | Promise<ProxyResponse> = () => answer()): Handler =>
  async (exchange) => {
    exchange.onSent?.()
    return respond(exchange)
  }

const answering = (...of: Parameters<typeof answer>): Handler => sending(() => answer(...of))

const failing = (kind: FailureKind): Handler =>
  sending(() => {
    throw new GatewayError(kind)
  })

interface Pair {
  /** The bytes are copied: they are freed when the callback returns. */
  readonly primary: ShadowAnswer
  readonly candidate: ShadowAnswer
  readonly request: ShadowedRequest
}

interface Shadowing extends Partial<Omit<ShadowOptions, 'onPair' | 'copies'>> {
  readonly concurrency?: number
  readonly maxBytes?: number
  /** Null: answers are not compared. */
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
  const keep = ({ body, ...rest }: ShadowAnswer): ShadowAnswer => ({
    ...rest,
    body: { ...body, bytes: body.bytes && Buffer.from(body.bytes) },
  })
  const layer = shadowLayer({
    ...{ sample: 1, timeout: 30_000, maxBody: 100 * kib, requestIdField: 'x-request-id' },
    ...{ marker: 'X-Shadow', credentials: 'remove' as const, credentialFields: [], keptFields: [], repeats: null },
    isUp: () => true,
    ...more,
    copies,
    send: (exchange) => {
      copied.push(exchange)
      return send(exchange)
    },
    onPair:
      onPair === undefined
        ? (primary, candidate, request) => {
            pairs.push({ primary: keep(primary), candidate: keep(candidate), request })
          }
        : onPair,
  })
  return { layer, copies, pairs, copied, errors, counts: copies.counts }
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

/** Waits until everything is over that needs no more than turns of the event loop. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await setImmediate()
}

/** A handler of an upstream that never answers; `onAbort` is told why a copy is cut. */
const hanging =
  (onAbort: (kind: string) => void): Handler =>
  (exchange) =>
    new Promise((_, reject) => {
      exchange.setAbortListener((reason) => {
        onAbort(reason.kind)
        reject(reason)
      })
    })

/** Sends one request, takes the response as a client does, and waits until all is over; returns the body. */
const serve = async (layer: Layer, primary: Handler = sending(), request = fakeExchange()): Promise<string> => {
  const text = await take(await layer(primary)(request))
  await settled()
  return text
}

const post = (body: RequestBody) => fakeExchange({ operation: 'valuation.score', body })

const bodyOf = async ({ body }: Exchange): Promise<string> => Buffer.concat([...(await body.read())]).toString()

describe('a request', () => {
  test('goes to the primary alone while no endpoint of the candidate takes it', async () => {
    const { layer, counts, pairs } = shadowing({ isUp: () => false })

    await serve(layer)

    expect(counts).toMatchObject({ sent: 0, dropped: { 'no-endpoint': 1 } })
    expect(pairs).toEqual([])
  })

  test('goes to the candidate as it is, without credentials and marked', async () => {
    const { layer, copied, counts } = shadowing()
    const exchange = fakeExchange({ query: '?a=%20b', fields: ['Authorization', 'Bearer x', 'X-A', '1'] })
    exchange.trace = { traceId: '0'.repeat(32), attempt: () => null }

    const text = await serve(layer, answering('from the primary'), exchange)

    expect(text).toBe('from the primary')
    expect(copied).toHaveLength(1)
    expect(copied[0]).toMatchObject({
      operation: { id: 'market.insights' },
      query: '?a=%20b',
      fields: ['X-A', '1', 'X-Shadow', '1'],
      onInterim: null,
      trace: null,
    })
    expect(exchange.fields).toEqual(['Authorization', 'Bearer x', 'X-A', '1'])
    expect(counts).toMatchObject({ sent: 1, pairs: 1, outcomes: { '2xx': 1 } })
  })

  test('is that of a client of the primary: one of the candidate has no copy, whichever side serves it', async () => {
    const { layer, copied } = shadowing()
    const exchanges = (['primary', 'candidate', 'candidate'] as const).map((side) =>
      Object.assign(fakeExchange(), { side }),
    )

    for (const exchange of exchanges) await serve(layer, sending(), exchange)

    expect(copied).toHaveLength(1)
  })

  test('is sent before its copy, and its client waits for nothing', async () => {
    const never = new Promise<ProxyResponse>(() => {})
    const { layer, copied } = shadowing({ send: sending(() => never) })
    let copiedAtOnce: number | null = null

    const response = await layer(
      sending(() => {
        copiedAtOnce = copied.length
        return answer('at once')
      }),
    )(fakeExchange())

    expect(await take(response)).toBe('at once')
    expect(copiedAtOnce).toBe(0)
  })

  test('cannot be marked by its client', async () => {
    const { layer, copied } = shadowing()
    const exchange = fakeExchange({ fields: ['X_SHADOW', '1', 'X-A', '1'] })
    const got: (readonly string[])[] = []

    const next = sending(({ fields }) => {
      got.push(fields)
      return answer()
    })

    await markerLayer('X-Shadow')(layer(next))(exchange)
    await settled()

    expect(got).toEqual([['X-A', '1']])
    expect(copied[0]?.fields).toEqual(['X-A', '1', 'X-Shadow', '1'])
  })

  test('is not copied beyond the sample', async () => {
    const random = vi.spyOn(Math, 'random')
    const { layer, counts } = shadowing({ sample: 0.25 })

    for (const drawn of [0, 0.2499, 0.25, 0.9]) {
      random.mockReturnValueOnce(drawn)
      await serve(layer)
    }

    expect(counts.sent).toBe(2)
  })

  test('has no copy where the primary does not get it', async () => {
    const { layer, counts, copies } = shadowing()
    const refused: Handler = () => Promise.reject(new GatewayError('circuit-open'))

    await expect(layer(refused)(fakeExchange())).rejects.toMatchObject({ kind: 'circuit-open' })
    await settled()

    expect(counts).toMatchObject({ sent: 0, pairs: 0 })
    expect([copies.report().underWay, copies.room.used]).toEqual([0, 0])
  })
})

test('a request that is sent again, as by a retry, has one copy, with its body once', async () => {
  const { layer, copied } = shadowing()
  const twice = sending((exchange) => {
    exchange.onSent?.()
    return answer()
  })

  await serve(layer, twice, post(new WholeBody(Buffer.from('{"a":1}'))))

  expect(await Promise.all(copied.map(bodyOf))).toEqual(['{"a":1}'])
})

describe('the pair', () => {
  test('says what both answered, to which request', async () => {
    const fields = ['Content-Type', 'application/json', 'X-B', '2']
    const { layer, pairs, copies } = shadowing({ send: answering('{"a":2}', 201, fields) })
    const exchange = fakeExchange({ fields: ['X-Request-Id', 'id-7'] })

    await serve(layer, answering('{"a":1}', 200, fields), exchange)

    const common = { headMs: expect.any(Number), fields, failure: null }
    const body = (text: string) => ({ length: 7, bytes: Buffer.from(text), sha256: null })
    expect(pairs).toEqual([
      {
        primary: { ...common, status: 200, body: body('{"a":1}') },
        candidate: { ...common, status: 201, body: body('{"a":2}') },
        request: { operation: 'market.insights', requestId: 'id-7' },
      },
    ])
    expect([copies.report().underWay, copies.room.used]).toEqual([0, 0])
  })

  test.each(['primary', 'candidate'] as const)('of a longer body of the %s has its hash', async (side) => {
    const large = 'x'.repeat(150 * kib)
    const [primary, candidate] = side === 'primary' ? [large, 'ok'] : ['ok', large]
    const { layer, pairs } = shadowing({ send: answering(candidate) })

    const text = await serve(layer, answering(primary))

    const sha256 = createHash('sha256').update(large).digest('hex')
    expect(text).toBe(primary)
    expect(pairs[0]?.[side].body).toEqual({ length: 150 * kib, bytes: null, sha256 })
  })

  test('of bodies that find no room has their hashes', async () => {
    const { layer, pairs } = shadowing({ maxBytes: 10 })

    await serve(layer, answering('more than ten bytes'))

    expect(pairs[0]?.primary.body).toMatchObject({
      length: 19,
      bytes: null,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(pairs[0]?.candidate.body.bytes?.toString()).toBe('ok')
  })

  test('says how the candidate failed', async () => {
    const { layer, pairs, counts } = shadowing({ send: failing('reset-before-headers') })

    await serve(layer)

    expect(pairs[0]?.candidate).toMatchObject({ status: null, headMs: null, failure: 'reset-before-headers' })
    expect(counts.outcomes.failed).toBe(1)
  })

  test('says how the primary failed, where it is the fault of the primary', async () => {
    const { layer, pairs } = shadowing()

    await expect(layer(failing('headers-timeout'))(fakeExchange())).rejects.toMatchObject({ kind: 'headers-timeout' })
    await settled()

    expect(pairs[0]?.primary).toMatchObject({ status: null, failure: 'headers-timeout' })
  })

  test.each([
    ['a client that leaves', (body: ResponseBodyQueue) => body.fail(new GatewayError('client-gone'))],
    ['a response that is not wanted', (_: ResponseBodyQueue, response: ProxyResponse) => response.body.discard()],
  ])('is not handed on after %s', async (_, cut) => {
    const { layer, counts, copies } = shadowing()
    const { body, response } = streamed()

    const handedOn = await layer(sending(() => response()))(fakeExchange())
    body.push(Buffer.from('a part'))
    if (cut.length === 1) handedOn.body.consume({ data: () => true, end: () => {}, fail: () => {} })
    cut(body, handedOn)
    await settled()

    expect(counts).toMatchObject({ sent: 1, pairs: 0, outcomes: { '2xx': 1 } })
    expect([copies.report().underWay, copies.room.used]).toEqual([0, 0])
  })

  test('that cannot be looked at harms nothing', async () => {
    const { layer, copies, errors } = shadowing({
      onPair: () => {
        throw new Error('a defect')
      },
    })

    const text = await serve(layer)

    expect(text).toBe('ok')
    expect(errors).toEqual([new Error('a defect')])
    expect(copies.room.used).toBe(0)
  })
})

describe('a body of a request', () => {
  const streaming = (length: number | null) => ({ ...fakeBody(length), replayable: false })

  test('that streams is in the copy, which goes out when all of it has come', async () => {
    const { layer, copied } = shadowing()
    const body = streaming(null)
    const { promise, resolve } = Promise.withResolvers<ProxyResponse>()
    const exchange = post(body)

    const served = layer(sending(() => promise))(exchange)
    body.onData?.(Buffer.from('one '))
    await settled()
    const copiedBefore = copied.length
    body.onData?.(Buffer.from('two'))
    body.onData?.(null)
    resolve(answer())
    await take(await served)
    await settled()

    expect(copiedBefore).toBe(0)
    expect(copied).toHaveLength(1)
    expect(await bodyOf(copied[0] as Exchange)).toBe('one two')
  })

  test.each<[string, string, (body: ReturnType<typeof streaming>, copies: ShadowCopies) => void, number?]>([
    ['declares more than is copied', 'body-too-large', ({ onData }) => onData?.(null), 101 * kib],
    [
      'streams more than is copied',
      'body-too-large',
      ({ onData }) => {
        for (const text of ['x', 'y']) onData?.(Buffer.from(text.repeat(60 * kib)))
        onData?.(null)
      },
    ],
    [
      'has not come when the shift is stopped',
      'stopped',
      ({ onData }, copies) => {
        onData?.(Buffer.from('a part'))
        copies.applyBounds(null)
        onData?.(null)
      },
    ],
    [
      'does not come to its end',
      'body-unfinished',
      ({ onData }) => {
        onData?.(Buffer.from('a part'))
        throw new GatewayError('client-gone')
      },
    ],
  ])('that %s goes to the primary alone: %s', async (_, reason, come, length) => {
    const { layer, counts, copies, pairs } = shadowing()
    const body = streaming(length ?? null)
    const primary = sending(() => {
      come(body, copies)
      return answer()
    })

    await serve(layer, primary, post(body)).catch(() => {})
    await settled()

    expect(counts).toMatchObject({ sent: 0, dropped: { [reason]: 1 } })
    expect([pairs, copies.report().underWay, copies.room.used]).toEqual([[], 0, 0])
  })

  test('that finds no room goes to the primary alone', async () => {
    const { layer, counts } = shadowing({ maxBytes: 3 })

    await serve(layer, sending(), post(new WholeBody(Buffer.from('{"a":1}'))))

    expect(counts).toMatchObject({ sent: 0, dropped: { 'no-room': 1 } })
  })

  test('that is read before it is sent, and whose client leaves, is dropped once', async () => {
    const { layer, counts } = shadowing()
    const gone = new GatewayError('client-gone')
    const { promise, reject } = Promise.withResolvers<readonly Buffer[]>()
    const body: RequestBody = { ...streaming(null), replayable: true, read: () => promise }

    await expect(
      layer(
        sending(() => {
          throw gone
        }),
      )(post(body)),
    ).rejects.toBe(gone)
    reject(gone)
    await settled()

    expect(counts).toMatchObject({ sent: 0, dropped: { 'body-unfinished': 1 } })
  })
})

describe('what bounds copies', () => {
  test.each([
    ['cannot be reached', () => Promise.reject(new GatewayError('connect-failed'))],
    [
      'pours',
      () => {
        const { push, response } = streamed()
        queueMicrotask(() => push(102))
        return response()
      },
    ],
  ])('a candidate that %s five times in a row gets no further copies, until a reload', async (_, respond) => {
    const { layer, counts, copies } = shadowing({ send: sending(respond) })

    for (let i = 0; i < 8; i++) await serve(layer)
    const before = { sent: counts.sent, backoff: counts.dropped.backoff }
    copies.applyBounds({ concurrency: 10, maxBytes: 1024 * kib })
    await serve(layer)

    expect(before).toEqual({ sent: 5, backoff: 3 })
    expect(counts.sent).toBe(6)
  })

  test('answers that are not compared take no room', async () => {
    const [primary, candidate] = [streamed(), streamed()]
    const { layer, copies, counts } = shadowing({ onPair: null, send: sending(() => candidate.response()) })

    const taken = take(await layer(sending(() => primary.response()))(fakeExchange()))
    await settled()
    for (const { push } of [primary, candidate]) push(20)
    const room = copies.room.used
    for (const { body } of [primary, candidate]) body.end()
    await taken
    await settled()

    expect([room, copies.report().underWay]).toEqual([0, 0])
    expect(counts).toMatchObject({ sent: 1, pairs: 0, outcomes: { '2xx': 1 } })
  })

  test.each([
    ['with errors', () => answer('broken', 500)],
    [
      'with a little more than the primary, and than is kept',
      () => {
        const { body, push, response } = streamed()
        push(102)
        void setImmediate().then(() => body.end())
        return response()
      },
    ],
  ])('a candidate that answers %s gets all copies: they are answers', async (_, respond) => {
    const { layer, counts } = shadowing({ send: sending(respond) })

    for (let i = 0; i < 8; i++) await serve(layer, answering('x'.repeat(99 * kib)))

    expect(counts).toMatchObject({ sent: 8, dropped: { backoff: 0 } })
  })

  test('a candidate whose body is longer than is read gets all copies where the one of the primary is too', async () => {
    const respond = (): ProxyResponse => {
      const { push, response } = streamed()
      push(70)
      return response()
    }
    const { layer, counts, pairs } = shadowing({ maxBody: 4 * kib, send: sending(respond) })

    for (let i = 0; i < 8; i++) await serve(layer, answering('x'.repeat(70 * kib)))

    expect(counts).toMatchObject({ sent: 8, dropped: { backoff: 0 } })
    expect(pairs.map(({ candidate }) => candidate.body)).toEqual(
      Array(8).fill({ length: 65 * kib, bytes: null, sha256: null }),
    )
  })

  test('as many as may are under way, and the next are dropped', async () => {
    const ends: (() => void)[] = []
    const send = sending(() => new Promise((resolve) => ends.push(() => resolve(answer()))))
    const { layer, counts, copies } = shadowing({ concurrency: 2, send })

    for (let i = 0; i < 5; i++) await serve(layer)
    const whenFull = { size: copies.report().underWay, sent: counts.sent, dropped: counts.dropped.full }
    for (const end of ends) end()
    await settled()
    await serve(layer)

    expect(whenFull).toEqual({ size: 2, sent: 2, dropped: 3 })
    expect(counts).toMatchObject({ sent: 3, pairs: 2 })
  })

  test('a token in the query keeps it from being copied, unless credentials are forwarded', async () => {
    const removing = shadowing()
    const forwarding = shadowing({ credentials: 'forward' })
    const query = '?a=1&%61ccess_token=secret'

    for (const { layer } of [removing, forwarding]) await serve(layer, sending(), fakeExchange({ query }))

    expect(removing.counts).toMatchObject({ sent: 0, dropped: { 'credential-in-query': 1 } })
    expect(forwarding.counts.sent).toBe(1)
  })

  test.each([
    ['is cut where it is four times as long as that of the primary', 'x'.repeat(20 * kib), 81],
    ['is cut at 64 KiB where the primary has little to say', 'short', 65],
    ['is cut where it is four times as long as one that is longer than is kept', 'x'.repeat(101 * kib), 405],
  ])('an answer without an end %s', async (_, ofPrimary, chunks) => {
    const endless = streamed()
    const { layer, pairs } = shadowing({ send: sending(() => endless.response()) })

    await serve(layer, answering(ofPrimary))
    endless.push(chunks - 1)
    const early = endless.cancel.mock.calls.length
    endless.push(1)
    await settled()

    expect([early, endless.cancel.mock.calls.length]).toEqual([0, 1])
    const { candidate } = pairs[0] ?? {}
    const body = { length: chunks * kib, bytes: null, sha256: null }
    expect(candidate).toMatchObject({ status: 200, failure: null, body })
  })

  test('an answer that is far ahead of that of the primary waits for it', async () => {
    const [slow, fast] = [streamed(), streamed()]
    const { layer, pairs } = shadowing({
      maxBody: 10_000 * kib,
      maxBytes: 100_000 * kib,
      send: sending(() => fast.response()),
    })

    const text = take(await layer(sending(() => slow.response()))(fakeExchange()))
    await settled()
    fast.push(65)
    const [paused, resumed] = [fast.pause.mock.calls.length, fast.resume.mock.calls.length]
    slow.push(20)
    const resumedAfter = fast.resume.mock.calls.length
    slow.push(45)
    slow.body.end()
    fast.body.end()
    await settled()

    expect(await text).toHaveLength(65 * kib)
    expect(paused).toBe(1)
    expect(resumedAfter).toBeGreaterThan(resumed)
    expect(pairs[0]?.candidate.body).toEqual(pairs[0]?.primary.body)
  })

  test('an answer that waits for that of the primary, and is cut when that ends, makes one pair', async () => {
    const [slow, fast] = [streamed(), streamed()]
    const { layer, pairs, counts, errors } = shadowing({ send: sending(() => fast.response()) })

    const text = take(await layer(sending(() => slow.response()))(fakeExchange()))
    await settled()
    fast.push(65)
    slow.body.push(Buffer.from('short'))
    slow.body.end()
    await settled()

    expect(await text).toBe('short')
    expect([pairs.length, counts.pairs, errors]).toEqual([1, 1, []])
    expect(pairs[0]?.primary.body.bytes?.toString()).toBe('short')
  })

  test.each([
    ['that is as long as that of the primary', 3, 3],
    ['that is longer than is kept, where that of the primary is not,', 1, 3],
    ['that is longer than that of the primary, where both are longer than is kept,', 3, 4],
  ])('an answer %s is read to its end', async (_, ofPrimary, ofCandidate) => {
    const large = streamed()
    const { layer, pairs } = shadowing({ maxBody: kib, send: sending(() => large.response()) })

    await serve(layer, answering('x'.repeat(ofPrimary * kib)))
    large.push(ofCandidate)
    large.body.end()
    await settled()

    const whole = 'x'.repeat(ofCandidate * kib)
    const sha256 = createHash('sha256').update(whole).digest('hex')
    expect(pairs[0]?.candidate.body).toEqual({ length: whole.length, bytes: null, sha256 })
  })

  test('a candidate that takes too long is given up, and has failed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const aborted = vi.fn()
    const { layer, pairs, copies } = shadowing({ timeout: 5000, send: hanging(aborted) })

    const text = await serve(layer)
    vi.advanceTimersByTime(4999)
    await settled()
    const before = copies.report().underWay
    vi.advanceTimersByTime(1)
    await settled()

    expect(text).toBe('ok')
    expect(before).toBe(1)
    expect(aborted).toHaveBeenCalledExactlyOnceWith('deadline-exceeded')
    expect(pairs[0]?.candidate).toMatchObject({ status: null, failure: 'deadline-exceeded' })
    expect(copies.report().underWay).toBe(0)
  })

  test('a client that reads for hours costs a copy no more than its time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { layer, counts, copies } = shadowing({ timeout: 5000 })
    const { body, response } = streamed()

    const handedOn = await layer(sending(() => response()))(fakeExchange())
    const text = take(handedOn)
    body.push(Buffer.from('slow '))
    await settled()
    const before = [copies.report().underWay, copies.room.used > 0]
    vi.advanceTimersByTime(5000)
    const after = [copies.report().underWay, copies.room.used > 0]
    body.push(Buffer.from('end'))
    body.end()

    expect(before).toEqual([1, true])
    expect(after).toEqual([0, false])
    expect(await text).toBe('slow end')
    expect(counts).toMatchObject({ sent: 1, pairs: 0, outcomes: { '2xx': 1 } })
  })

  test('a process that stops cuts copies, and begins no more', async () => {
    const aborted = vi.fn()
    const { layer, counts, copies } = shadowing({ send: hanging(aborted) })
    await serve(layer)

    copies.stop()
    const text = await serve(layer)

    expect(text).toBe('ok')
    expect(aborted).toHaveBeenCalledOnce()
    expect([copies.report().underWay, copies.room.used]).toEqual([0, 0])
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

  test.each(credentials)('%s does not get into the copy, unless credentials are forwarded', (name) => {
    const fields = ['Accept', 'a', name, 'secret', 'Via', '1.1 x']

    expect(createShadowFields(options)(fields)).toEqual(['Accept', 'a', 'Via', '1.1 x', ...marked])
    expect(createShadowFields({ ...options, credentials: 'forward' })(fields)).toEqual([...fields, ...marked])
  })

  test('all else is in the copy as it came, in its order and as often, with what names a request', () => {
    const names = ['accept', 'Accept', 'X-Request-Id', 'Idempotency-Key', 'X_Idempotency_Key', 'x_transaction_key']
    const fields = [...names, 'X-Transaction-Key'].flatMap((name, at) => [name, `${at}`])

    expect(createShadowFields(options)(fields)).toEqual([...fields, ...marked])
  })

  test.each(['X-Shadow', 'x-shadow', 'X_Shadow'])(
    'a %s of the client is neither in the copy nor in its request',
    (name) => {
      const fields = ['A', '1', name, '0', 'B', '2', name, '1']
      const toCopyFields = createShadowFields({ ...options, credentials: 'forward' })

      expect(toCopyFields(fields)).toEqual(['A', '1', 'B', '2', ...marked])
      expect(createMarkerRemover('X-Shadow')(fields)).toEqual(['A', '1', 'B', '2'])
    },
  )

  test('fields without the marker are the same list', () => {
    const fields = ['A', 'X-Shadow', 'X-Shadows', '1']

    expect(createMarkerRemover('X-Shadow')(fields)).toBe(fields)
  })
})

test.each([true, false])('copies go to a candidate while an endpoint of it takes requests: %s', (takesRequests) => {
  const candidate = { upstream: {}, shadow: { sample: 1, concurrency: 1, compare: null } }
  const running = { members: [{ receivesTraffic: true, takesRequests, health: { isDown: false } }] }
  const resources = {
    sides: { primary: running, candidate: running },
    open: () => running,
    comparison: null,
  }

  const shadow = openShadow(candidate as unknown as CandidateConfig, resources as unknown as ShadowResources)

  expect(shadow?.isUp()).toBe(takesRequests)
})

describe('requests that the primary gets twice, in place of a copy, so that its noise is learnt', () => {
  // So long after the first the second one goes out.
  const waitMs = 1100

  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))

  /** Creates the layer, and notes where requests go and what is compared; `again` sends to the primary once more. */
  const repeating = (isTaken: boolean, again: Handler = answering('again'), concurrency = 10) => {
    const [copied, repeated, pairs]: readonly [Exchange[], Exchange[], string[]] = [[], [], []]
    const counted: string[] = []
    const copies = createShadowCopies(
      createDeferredWork(() => {}),
      createDeferredWork(() => {}),
    )
    copies.applyBounds({ concurrency, maxBytes: 1024 ** 2 })
    const noting =
      (list: Exchange[], send: Handler): Handler =>
      (exchange) => {
        list.push(exchange)
        return send(exchange)
      }
    const layer = shadowLayer({
      ...{ sample: 1, timeout: 30_000, maxBody: 1024, requestIdField: null },
      ...{ marker: 'X-Shadow', credentials: 'remove' as const, credentialFields: [], keptFields: [], copies },
      send: noting(copied, answering('of the candidate')),
      isUp: () => true,
      onPair: (_, { body }) => void pairs.push(`candidate: ${body.bytes}`),
      repeats: {
        wants: () => isTaken,
        onSend: (operation) => void counted.push(operation),
        afterMs: waitMs,
        send: noting(repeated, again),
        isUp: () => true,
        onPair: ({ body }, second) => void pairs.push(`${body.bytes}, ${second.failure ?? second.body.bytes}`),
      },
    })
    return { layer, copies, copied, repeated, counted, pairs }
  }

  const fields = ['Authorization', 'Bearer a', 'X-A', '1', 'x_shadow', '0']

  /** Sends one request and takes its response, as a client does. */
  const exchangeOne = async (layer: ReturnType<typeof repeating>['layer'], query = ''): Promise<void> => {
    const { body } = await layer(answering('once'))(fakeExchange({ fields, query }))
    body.takeBuffered()
    await settled()
    vi.advanceTimersByTime(waitMs)
    await settled()
  }

  test('go to the primary with all fields and the marker, and not to the candidate', async () => {
    const { layer, copied, repeated, pairs } = repeating(true)

    await exchangeOne(layer, '?access_token=a')

    expect(copied).toEqual([])
    expect(repeated.map(({ fields: own, query }) => [own, query])).toEqual([
      [['Authorization', 'Bearer a', 'X-A', '1', 'X-Shadow', '1'], '?access_token=a'],
    ])
    expect(pairs).toEqual(['once, again'])
  })

  test('go out when a time in seconds is another, and not before', async () => {
    const { layer, repeated, copies } = repeating(true)
    const { body } = await layer(answering('once'))(fakeExchange({}))
    body.takeBuffered()
    await settled()

    vi.advanceTimersByTime(waitMs - 1)
    await settled()
    const before = [repeated.length, copies.report().underWay]
    vi.advanceTimersByTime(1)
    await settled()

    expect([...before, repeated.length, copies.report().underWay]).toEqual([0, 1, 1, 0])
  })

  test('count when they go out, and not when the primary was never sent the first', async () => {
    const { layer, counted } = repeating(true)
    const refuse: Handler = () => Promise.reject(new GatewayError('connect-failed'))

    await layer(refuse)(fakeExchange({ fields })).catch(() => {})
    await settled()
    const before = [...counted]
    await exchangeOne(layer)

    expect([before, counted]).toEqual([[], ['market.insights']])
  })

  test('are four at most that are on their way or wait, however many requests come at once', async () => {
    const { layer, copies, repeated } = repeating(true, () => new Promise(() => {}))

    const responses = await Promise.all(
      Array.from({ length: 9 }, () => layer(answering('once'))(fakeExchange({ fields }))),
    )
    for (const { body } of responses) body.takeBuffered()
    await settled()
    vi.advanceTimersByTime(waitMs)
    await settled()

    expect([repeated.length, copies.repeating()]).toEqual([4, 4])
  })

  test('are counted apart from copies', async () => {
    const { layer, copies } = repeating(true)

    await exchangeOne(layer)

    expect(copies.report()).toMatchObject({ sent: 0, pairs: 0, repeated: 1, underWay: 0, outcomes: { '2xx': 0 } })
  })

  test('share the bounds of copies: there is none while as many as may are under way', async () => {
    const { layer, copies, repeated } = repeating(true, () => new Promise(() => {}), 1)

    await exchangeOne(layer)
    await exchangeOne(layer)

    expect([repeated.length, copies.report().repeated, copies.report().underWay]).toEqual([1, 1, 1])
    expect(copies.report().dropped.full).toBe(0)
  })

  test('that fail are pairs too, which teach nothing, and no client hears of it', async () => {
    const { layer, pairs } = repeating(true, () => Promise.reject(new GatewayError('connect-failed')))

    await exchangeOne(layer)

    expect(pairs).toEqual(['once, connect-failed'])
  })

  test('that are not taken are copies', async () => {
    const { layer, copied, repeated, pairs } = repeating(false)

    await exchangeOne(layer)

    expect([copied.length, repeated.length]).toEqual([1, 0])
    expect(pairs).toEqual(['candidate: of the candidate'])
  })

  test('end with the process', async () => {
    const { layer, copies, repeated } = repeating(true, () => new Promise(() => {}))
    await exchangeOne(layer)

    copies.stop()

    expect(repeated[0]?.aborted?.kind).toBe('overloaded')
    expect(copies.report().underWay).toBe(0)
  })

  test('that fail say nothing of the candidate: its copies go out as before', async () => {
    const { layer, copies, repeated } = repeating(true, async (exchange) => {
      exchange.onSent?.()
      throw new GatewayError('reset-before-headers')
    })

    for (let n = 0; n < 6; n++) await exchangeOne(layer)

    expect(repeated).toHaveLength(6)
    expect([copies.backoff.take(), copies.backoff.take()]).toEqual([true, true])
  })
})
