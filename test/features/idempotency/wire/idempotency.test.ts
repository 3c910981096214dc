import { connect } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

const target = '/financing/pre-approval'

/** Sends a POST with a key, and returns the status, the body and whether it was replayed. */
const post = async (port: number, key: string, body = 'abc', more: readonly string[] = []) => {
  const response = await call(port, {
    method: 'POST',
    target,
    fields: ['Idempotency-Key', key, ...more],
    body: Buffer.from(body),
  })
  const [replayed] = fieldValues(response.fields, 'idempotency-replayed')
  return { status: response.status, text: response.body.toString(), isReplayed: replayed === 'true' }
}

const once = { operations: { 'financing.pre-approval': { idempotency: true } } }

const codeOf = (text: string): string => JSON.parse(text).code

describe('a POST with a key', () => {
  test('is processed once, and its repetition has the same response', async () => {
    const upstream = await httpUpstream((_, response) => {
      response.writeHead(201, { 'X-Number': String(upstream.requests.length), 'Set-Cookie': 'a=b' }).end('done')
    })
    const { port } = await bootGateway({ upstream: upstream.url, ...once })

    const answers = [await post(port, 'k-1'), await post(port, 'k-1'), await post(port, '"k-1"')]

    expect(answers).toEqual([
      { status: 201, text: 'done', isReplayed: false },
      { status: 201, text: 'done', isReplayed: true },
      { status: 201, text: 'done', isReplayed: true },
    ])
    expect(upstream.requests).toHaveLength(1)
  })

  test('is rejected with another body', async () => {
    const upstream = await httpUpstream((_, response) => response.end('done'))
    const { port } = await bootGateway({ upstream: upstream.url, ...once })

    await post(port, 'k-1')
    const other = await post(port, 'k-1', 'abd')

    expect([other.status, codeOf(other.text)]).toEqual([422, 'idempotency-key-reused'])
    expect(upstream.requests).toHaveLength(1)
  })

  test('is not sent again when its outcome is unknown', async () => {
    let sent = 0
    const upstream = await rawUpstream((socket) =>
      onRequest(socket, () => {
        sent++
        socket.resetAndDestroy()
      }),
    )
    const { port } = await bootGateway({ upstream: upstream.url, ...once })

    const answers = [await post(port, 'k-1'), await post(port, 'k-1')]

    expect(answers.map(({ status, text }) => [status, codeOf(text)])).toEqual([
      [502, 'reset-before-headers'],
      [409, 'outcome-unknown'],
    ])
    expect(sent).toBe(1)
  })

  test('frees its key when nothing was sent', async () => {
    const { port } = await bootGateway({ upstream: 'http://127.0.0.1:1', ...once })

    const answers = [await post(port, 'k-1'), await post(port, 'k-1')]

    expect(answers.map(({ status, text }) => [status, codeOf(text)])).toEqual([
      [502, 'connect-failed'],
      [502, 'connect-failed'],
    ])
  })
})

describe('a repetition of a POST that has not ended', () => {
  test('is told so, and when it may wait has the response of the first', async () => {
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const upstream = await httpUpstream((_, response) => {
      onAsked()
      void released.then(() => response.end('done'))
    })
    const { port } = await bootGateway({ upstream: upstream.url, ...once })
    const waiting = await bootGateway({
      upstream: upstream.url,
      operations: { 'financing.pre-approval': { idempotency: { wait: '30s' } } },
    })

    const first = [post(port, 'k-1'), post(waiting.port, 'k-1')]
    await asked
    const second = await post(port, 'k-1')
    const third = post(waiting.port, 'k-1')
    release()

    expect([second.status, codeOf(second.text)]).toEqual([409, 'request-in-progress'])
    expect((await Promise.all([...first, third])).map(({ text }) => text)).toEqual(['done', 'done', 'done'])
    expect(upstream.requests).toHaveLength(2)
  })

  test('has the response of the first, also when the client of the first has left', async () => {
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const upstream = await httpUpstream((_, response) => {
      onAsked()
      void released.then(() => response.end('done'))
    })
    const { port } = await bootGateway({ upstream: upstream.url, ...once })

    const socket = connect(port, '127.0.0.1')
    socket.write(`POST ${target} HTTP/1.1\r\nHost: gateway\r\nIdempotency-Key: k-1\r\nContent-Length: 3\r\n\r\nabc`)
    await asked
    socket.destroy()
    expect((await post(port, 'k-1')).status).toBe(409)
    release()

    await vi.waitFor(async () => {
      expect(await post(port, 'k-1')).toEqual({ status: 200, text: 'done', isReplayed: true })
    }, 30_000)
    expect(upstream.requests).toHaveLength(1)
  })
})

describe('a POST with a key and a body over maxBody', () => {
  test.each([
    ['of a known length', undefined],
    ['in chunks', 50_000],
  ])('%s is compared with its repetition', async (_, chunkBytes) => {
    const upstream = await httpUpstream((_request, response) => response.end('done'))
    const { port } = await bootGateway({ upstream: upstream.url, ...once })
    const send = async (letter: string): Promise<unknown> => {
      const response = await call(port, {
        method: 'POST',
        target,
        fields: ['Idempotency-Key', 'k-1'],
        body: Buffer.alloc(200_000, letter),
        ...(chunkBytes === undefined ? {} : { chunkBytes }),
      })
      return [
        response.status,
        response.body.toString().slice(0, 4),
        fieldValues(response.fields, 'idempotency-replayed'),
      ]
    }

    expect([await send('a'), await send('a'), await send('b')]).toEqual([
      [200, 'done', []],
      [200, 'done', ['true']],
      [422, '{"ty', []],
    ])
    expect(upstream.requests).toHaveLength(1)
  })
})

test('a response over maxResponse is passed on, and its repetition is told that it is not kept', async () => {
  const upstream = await httpUpstream((_, response) => response.end(Buffer.alloc(200_000, 'x')))
  const { port } = await bootGateway({ upstream: upstream.url, ...once })

  const [first, second] = [await post(port, 'k-1'), await post(port, 'k-1')]

  expect([first.status, first.text.length]).toEqual([200, 200_000])
  expect([second.status, codeOf(second.text)]).toEqual([409, 'response-not-kept'])
  expect(upstream.requests).toHaveLength(1)
})

test.each([
  [401, 2],
  [409, 2],
  [429, 2],
  [404, 1],
  [422, 1],
  [303, 1],
])('a POST that the upstream answers with %i is forwarded so often when it is repeated', async (status, times) => {
  const upstream = await httpUpstream((_, response) => response.writeHead(status).end())
  const { port } = await bootGateway({ upstream: upstream.url, ...once })

  const answers = [await post(port, 'k-1'), await post(port, 'k-1')]

  expect(answers.map((answer) => answer.status)).toEqual([status, status])
  expect(upstream.requests).toHaveLength(times)
})

test('without a key a POST passes as often as it comes, unless one is required', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const { port } = await bootGateway({
    upstream: upstream.url,
    operations: {
      'financing.pre-approval': { idempotency: true },
      'valuation.score': { idempotency: { required: true } },
    },
  })
  const send = (path: string) => call(port, { method: 'POST', target: path, body: Buffer.from('abc') })

  const answers = [await send(target), await send(target), await send('/valuation/score')]

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400])
  expect(codeOf(answers[2]?.body.toString() ?? '')).toBe('idempotency-key-missing')
  expect(upstream.requests).toHaveLength(2)
})
