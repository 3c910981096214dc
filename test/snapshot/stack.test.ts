import { describe, expect, test } from 'vitest'
import type { OperationConfig } from '../../src/config/config.ts'
import { GatewayError } from '../../src/errors.ts'
import type { Handle } from '../../src/exchange.ts'
import { stack, stackRows } from '../../src/snapshot/stack.ts'
import { fakeBody, fakeExchange, fakeNext, untilAborted } from '../helpers/exchange.ts'

const off: OperationConfig = { state: 'serve', deadlineMs: null, maxBodyBytes: null, idempotent: false, cache: false }

const upstreamOf = (send: Handle): { readonly send: Handle } => ({ send })

test('with everything off the handle is the send of the upstream itself', () => {
  const upstream = upstreamOf(fakeNext())

  expect(stack(off, upstream)).toBe(upstream.send)
})

test.each<[string, Partial<OperationConfig>]>([
  ['a deadline', { deadlineMs: 1000 }],
  ['a bound for the body', { maxBodyBytes: 100 }],
])('%s stands in front of it', (_, on) => {
  const upstream = upstreamOf(fakeNext())

  expect(stack({ ...off, ...on }, upstream)).not.toBe(upstream.send)
})

test('an operation out of service is refused, whatever else is on', async () => {
  const next = fakeNext()
  const handle = stack({ ...off, state: 'refuse', deadlineMs: 1000, maxBodyBytes: 0 }, upstreamOf(next))

  await expect(handle(fakeExchange({ body: fakeBody(100) }))).rejects.toMatchObject({ kind: 'refused-by-operator' })
  expect(next.calls).toBe(0)
})

test.each([
  ['serve', 'refuse'],
  ['refuse', 'serve'],
] as const)('an operation of state %s answers as %s when the operator says so', async (state, override) => {
  const next = fakeNext()

  const handle = stack({ ...off, state }, upstreamOf(next), { state: override, until: 0 })

  if (override === 'serve') return expect(handle).toBe(next)
  await expect(handle(fakeExchange())).rejects.toMatchObject({ kind: 'refused-by-operator' })
})

describe('the list as it is shown', () => {
  test('names each layer, the outermost first, with its key and what that says', () => {
    const rows = stackRows({ ...off, deadlineMs: 2000, maxBodyBytes: 65_536 })

    expect(rows).toEqual([
      { name: 'body-limit', key: 'maxBody', setting: '64KiB', layer: expect.any(Function) },
      { name: 'deadline', key: 'deadline', setting: '2s', layer: expect.any(Function) },
    ])
  })

  test('keeps what is off, without a layer', () => {
    expect(stackRows(off)).toMatchObject([
      { name: 'body-limit', setting: 'none', layer: null },
      { name: 'deadline', setting: 'none', layer: null },
    ])
  })
})

describe('the order of the list', () => {
  test('a body over its bound is refused before the deadline has begun', async () => {
    const next = fakeNext()
    const handle = stack({ ...off, deadlineMs: 1, maxBodyBytes: 1 }, upstreamOf(next))
    const body = fakeBody(2)

    await expect(handle(fakeExchange({ body }))).rejects.toMatchObject({ kind: 'content-too-large' })

    expect(body.onReceived).toBeNull()
    expect(next.calls).toBe(0)
  })

  test('the bound is set before anything is sent', async () => {
    const seen: number[] = []
    const next = fakeNext((exchange) => {
      seen.push(exchange.body.maxBytes)
      return Promise.reject(new GatewayError('connect-failed'))
    })
    const handle = stack({ ...off, deadlineMs: 1000, maxBodyBytes: 7 }, upstreamOf(next))

    await expect(handle(fakeExchange({ body: fakeBody(null) }))).rejects.toMatchObject({ kind: 'connect-failed' })

    expect(seen).toEqual([7])
  })

  test('the deadline ends what the upstream does not', async () => {
    const handle = stack({ ...off, deadlineMs: 1, maxBodyBytes: 7 }, upstreamOf(untilAborted))

    await expect(handle(fakeExchange())).rejects.toMatchObject({ kind: 'deadline-exceeded' })
  })
})
