import type dns from 'node:dns'
import type { LookupAddress } from 'node:dns'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { lookupHostname, resolveHostname } from '../../../src/upstream/endpoints/dns-lookup.ts'
import { eventually } from '../../helpers/wire.ts'

type Answer = (error: Error | null, addresses: LookupAddress[]) => void

vi.mock('node:dns', async (original) => ({ ...(await original<typeof dns>()), lookup: vi.fn() }))

const asked = new Map<string, Answer>()

beforeEach(async () => {
  const { lookup } = await import('node:dns')
  vi.mocked(lookup as (name: string, options: object, answer: Answer) => void).mockImplementation((name, _, answer) => {
    asked.set(name, answer)
  })
})
afterEach(() => asked.clear())

const one: LookupAddress = { address: '192.0.2.1', family: 4 }
const answer = (name: string): void => asked.get(name)?.(null, [one])

test('two names are asked for at once, and the next when one is known', async () => {
  const names = ['a.test', 'b.test', 'c.test']
  const found = names.map(resolveHostname)
  await eventually(() => asked.size >= 2)
  const early = [...asked.keys()]

  answer('a.test')
  await found[0]
  await eventually(() => asked.size >= 3)
  for (const name of names) answer(name)

  expect(early).toEqual(['a.test', 'b.test'])
  expect(await Promise.all(found)).toEqual([[one], [one], [one]])
})

test('a name that is being asked for is not asked for again', async () => {
  const found = [resolveHostname('a.test'), resolveHostname('a.test')]
  answer('a.test')

  expect(await Promise.all(found)).toEqual([[one], [one]])
})

test('one that does not resolve gives its turn back', async () => {
  const failing = ['a.test', 'b.test'].map(resolveHostname)
  const next = resolveHostname('c.test')
  for (const name of ['a.test', 'b.test']) asked.get(name)?.(new Error('ENOTFOUND'), [])

  expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await eventually(() => asked.has('c.test'))
  answer('c.test')
  expect(await next).toEqual([one])
})

test('a connection is told all addresses, or the first', async () => {
  const told = (all: boolean) =>
    new Promise((resolve) => {
      lookupHostname('a.test', { all }, (...result) => resolve(result))
      answer('a.test')
    })

  expect(await told(true)).toEqual([null, [one]])
  expect(await told(false)).toEqual([null, '192.0.2.1', 4])
})

describe('while the name server of some hangs', () => {
  const failed = (name: string): void => asked.get(name)?.(new Error('ETIMEOUT'), [])

  /** Has these names hang once, so that they are known for it; the clock is the test's. */
  const hanging = async (names: readonly string[]): Promise<void> => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    for (const name of names) {
      const found = resolveHostname(name).catch(() => {})
      await vi.advanceTimersByTimeAsync(4000)
      failed(name)
      await found
      asked.delete(name)
    }
  }

  test('a name that is new has its turn at once, however many of them are asked for', async () => {
    const names = ['a.hang', 'b.hang', 'c.hang']
    await hanging(names)

    const again = names.map((name) => resolveHostname(name).catch(() => {}))
    const found = resolveHostname('new.test')
    await vi.advanceTimersByTimeAsync(0)
    const early = [...asked.keys()]
    answer('new.test')

    expect(await found).toEqual([one])
    expect(early).toEqual(['a.hang', 'new.test'])
    for (const name of names) {
      answer(name)
      await vi.advanceTimersByTimeAsync(0)
    }
    await Promise.all(again)
  })

  test('one that answers again is as any other', async () => {
    await hanging(['a.hang', 'b.hang'])
    const back = resolveHostname('a.hang')
    answer('a.hang')
    await back
    asked.clear()

    const found = ['b.hang', 'a.hang'].map(resolveHostname)
    const early = [...asked.keys()]
    for (const name of early) answer(name)

    await Promise.all(found)
    expect(early).toEqual(['b.hang', 'a.hang'])
  })

  test('one that has no turn within 10 s is given up, and asked for no more', async () => {
    await hanging(['a.hang', 'b.hang'])
    const first = resolveHostname('a.hang').catch(() => {})

    const second = resolveHostname('b.hang').catch((error: NodeJS.ErrnoException) => error.code)
    await vi.advanceTimersByTimeAsync(10_000)
    const told = await second
    answer('a.hang')
    await first

    expect(told).toBe('EAI_AGAIN')
    expect([...asked.keys()]).toEqual(['a.hang'])
    expect(vi.getTimerCount()).toBe(0)
  })
})
