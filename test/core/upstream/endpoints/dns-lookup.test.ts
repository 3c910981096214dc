import type dns from 'node:dns'
import type { LookupAddress } from 'node:dns'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { lookupHostname, resolveHostname } from '../../../../src/core/upstream/endpoints/dns.ts'
import { eventually } from '../../../helpers/wire.ts'

type LookupCallback = (error: Error | null, addresses: LookupAddress[]) => void

vi.mock('node:dns', async (original) => ({ ...(await original<typeof dns>()), lookup: vi.fn() }))

const lookups = new Map<string, LookupCallback>()

beforeEach(async () => {
  const { lookup } = await import('node:dns')
  vi.mocked(lookup as (name: string, options: object, callback: LookupCallback) => void).mockImplementation(
    (name, _, callback) => {
      lookups.set(name, callback)
    },
  )
})
afterEach(() => lookups.clear())

const one: LookupAddress = { address: '192.0.2.1', family: 4 }
const resolveName = (name: string): void => lookups.get(name)?.(null, [one])

test('two names are looked up at once, and the next when one is known', async () => {
  const names = ['a.test', 'b.test', 'c.test']
  const pending = names.map(resolveHostname)
  await eventually(() => lookups.size >= 2)
  const early = [...lookups.keys()]

  resolveName('a.test')
  await pending[0]
  await eventually(() => lookups.size >= 3)
  for (const name of names) resolveName(name)

  expect(early).toEqual(['a.test', 'b.test'])
  expect(await Promise.all(pending)).toEqual([[one], [one], [one]])
})

test('a name that is being looked up is not looked up again', async () => {
  const pending = [resolveHostname('a.test'), resolveHostname('a.test')]
  resolveName('a.test')

  expect(await Promise.all(pending)).toEqual([[one], [one]])
})

test('one that does not resolve gives its turn back', async () => {
  const failing = ['a.test', 'b.test'].map(resolveHostname)
  const next = resolveHostname('c.test')
  for (const name of ['a.test', 'b.test']) lookups.get(name)?.(new Error('ENOTFOUND'), [])

  expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await eventually(() => lookups.has('c.test'))
  resolveName('c.test')
  expect(await next).toEqual([one])
})

test.each([
  [true, [null, [one]]],
  [false, [null, '192.0.2.1', 4]],
])('a connection gets all addresses, or the first: %s', async (all, expected) => {
  const { promise, resolve } = Promise.withResolvers()
  lookupHostname('a.test', { all }, (...result) => resolve(result))
  resolveName('a.test')

  expect(await promise).toEqual(expected)
})

describe('while the name server of some hangs', () => {
  const failed = (name: string): void => lookups.get(name)?.(new Error('ETIMEOUT'), [])

  /** Makes these names hang once, so that they are known for it; the clock is the test's. */
  const hanging = async (names: readonly string[]): Promise<void> => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    for (const name of names) {
      const pending = resolveHostname(name).catch(() => {})
      await vi.advanceTimersByTimeAsync(4000)
      failed(name)
      await pending
      lookups.delete(name)
    }
  }

  test('a name that is new has its turn at once, however many of them are looked up', async () => {
    const names = ['a.hang', 'b.hang', 'c.hang']
    await hanging(names)

    const again = names.map((name) => resolveHostname(name).catch(() => {}))
    const pending = resolveHostname('new.test')
    await vi.advanceTimersByTimeAsync(0)
    const early = [...lookups.keys()]
    resolveName('new.test')

    expect(await pending).toEqual([one])
    expect(early).toEqual(['a.hang', 'new.test'])
    for (const name of names) {
      resolveName(name)
      await vi.advanceTimersByTimeAsync(0)
    }
    await Promise.all(again)
  })

  test('a name that resolves again is as any other', async () => {
    await hanging(['a.hang', 'b.hang'])
    const back = resolveHostname('a.hang')
    resolveName('a.hang')
    await back
    lookups.clear()

    const pending = ['b.hang', 'a.hang'].map(resolveHostname)
    const early = [...lookups.keys()]
    for (const name of early) resolveName(name)

    await Promise.all(pending)
    expect(early).toEqual(['b.hang', 'a.hang'])
  })

  test('one that has no turn within 10 s is given up, and not looked up later', async () => {
    await hanging(['a.hang', 'b.hang'])
    const first = resolveHostname('a.hang').catch(() => {})

    const second = resolveHostname('b.hang').catch((error: NodeJS.ErrnoException) => error.code)
    await vi.advanceTimersByTimeAsync(10_000)
    const code = await second
    resolveName('a.hang')
    await first

    expect(code).toBe('EAI_AGAIN')
    expect([...lookups.keys()]).toEqual(['a.hang'])
    expect(vi.getTimerCount()).toBe(0)
  })
})
