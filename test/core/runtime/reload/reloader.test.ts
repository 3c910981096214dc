import { describe, expect, test } from 'vitest'
import type { Config } from '../../../../src/core/config/config.ts'
import type { LoadedConfig, LoadResult } from '../../../../src/core/config/load/load.ts'
import type { ReloadTrigger } from '../../../../src/core/runtime/reload/reload-history.ts'
import { Reloader } from '../../../../src/core/runtime/reload/reloader.ts'
import { parse, sandbox, validConfig, withRisk } from '../../config/helper.ts'
import { loaded } from './reloader-fixture.ts'

const at = (url: string): LoadedConfig => loaded(withRisk(` ${url}`))
const broken = parse('listen: 7')
const unverified = loaded(withRisk(' { endpoints: [https://a.internal], tls: { verify: false, insecure: true } }'))

/** Creates a reloader whose file is the next of `reads` each time, and which records what came of it. */
const createReloader = (...reads: readonly (LoadResult | Promise<LoadResult>)[]) => {
  const applied: Config[] = []
  const outcomes: [ReloadTrigger, string][] = []
  let read = 0
  let failing = false
  const reloader = new Reloader({
    file: 'gateway.yaml',
    initial: loaded(sandbox),
    load: async () => reads[Math.min(read++, reads.length - 1)] ?? broken,
    preflight: async () => [],
    apply: async (config) => {
      if (failing) throw new Error('planted')
      applied.push(config)
    },
    onOutcome: (trigger, { result }) => void outcomes.push([trigger, result]),
  })
  return {
    reloader,
    applied,
    outcomes,
    reads: () => read,
    fail: (whether: boolean) => {
      failing = whether
    },
  }
}

test('an override is put into effect while a reload is still reading the file', async () => {
  const slow = Promise.withResolvers<LoadResult>()
  const { reloader, applied } = createReloader(slow.promise)
  const reloading = reloader.reload('file')

  await reloader.reapply(true)
  const before = [...applied]
  slow.resolve(at('http://next.internal'))
  await reloading

  expect(before).toEqual([loaded(sandbox).config])
  expect(applied.at(-1)).toEqual(at('http://next.internal').config)
})

describe('what is urgent', () => {
  const tick = () => new Promise((resolve) => setImmediate(resolve))

  /** Creates a reloader that puts into effect what `finish` lets it, and lists for which of them it hurries. */
  const createSlow = () => {
    const [hurried, finish]: [string[], (() => void)[]] = [[], []]
    const reloader = new Reloader({
      file: 'gateway.yaml',
      initial: loaded(sandbox),
      load: async () => at('http://next.internal'),
      preflight: async () => [],
      apply: ({ upstreams }, { urgent }) => {
        const name = `${finish.length + 1} ${upstreams.risk.endpoints[0]?.origin}`
        void urgent.then(() => hurried.push(name))
        return new Promise((resolve) => finish.push(resolve))
      },
      onOutcome: () => {},
    })
    return { reloader, hurried, finish }
  }

  test('hurries the edit before it, and itself', async () => {
    const { reloader, hurried, finish } = createSlow()
    const reloading = reloader.reload('file')
    while (finish.length < 1) await tick()
    const alone = [...hurried]

    const urgent = reloader.reapply(true)
    await tick()
    const waiting = [...hurried]
    finish[0]?.()
    while (finish.length < 2) await tick()
    finish[1]?.()

    expect((await reloading).result).toBe('applied')
    await urgent
    expect([alone, waiting]).toEqual([[], ['1 http://next.internal']])
    expect(hurried).toEqual(['1 http://next.internal', '2 http://next.internal'])
  })

  test('hurries all that waits before it, and nothing after it', async () => {
    const { reloader, hurried, finish } = createSlow()
    const all = [reloader.reapply(), reloader.reapply(), reloader.reapply(true), reloader.reapply()]

    for (const [i, each] of all.entries()) {
      while (finish.length < i + 1) await tick()
      finish[i]?.()
      await each
    }

    expect(hurried.map((name) => name[0])).toEqual(['1', '2', '3'])
  })
})

describe('a change beside the configuration', () => {
  test('is decided when the edit before it is in effect, and no edit comes between', async () => {
    const { reloader, applied } = createReloader(at('http://first.internal'), at('http://second.internal'))
    const seen: string[] = []
    const note = (): void => void seen.push(reloader.config.hash)
    await reloader.reload('file')
    const second = Promise.withResolvers<void>()

    const changing = reloader.change(async (apply) => {
      note()
      await second.promise
      await apply()
      note()
    })
    const reloading = reloader.reload('file')
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    second.resolve()
    await changing
    await reloading

    const [first, last] = [at('http://first.internal').config, at('http://second.internal').config]
    expect(seen).toEqual([first.hash, first.hash])
    expect(applied).toEqual([first, first, last])
  })

  test('that throws holds nothing up', async () => {
    const { reloader, applied } = createReloader(at('http://first.internal'))

    await expect(reloader.change(() => Promise.reject(new Error('planted')), true)).rejects.toThrow('planted')
    await reloader.reload('file')

    expect(applied).toEqual([at('http://first.internal').config])
  })
})

describe('one reload at a time', () => {
  test('requests while one is under way share the next, and the last state of the file wins', async () => {
    const first = Promise.withResolvers<LoadResult>()
    const { reloader, applied, reads, outcomes } = createReloader(first.promise, at('http://last.internal'))

    const running = reloader.reload('file')
    await Promise.resolve()
    await Promise.resolve()
    const [second, third] = [reloader.reload('signal'), reloader.reload('request')]
    first.resolve(at('http://first.internal'))

    expect((await running).result).toBe('applied')
    expect(await second).toBe(await third)
    expect(reads()).toBe(2)
    expect(applied.at(-1)).toEqual(at('http://last.internal').config)
    expect(outcomes).toEqual([
      ['file', 'applied'],
      ['signal', 'applied'],
    ])
  })

  test('a rollback waits for the reload that is under way, and goes back behind it', async () => {
    const read = Promise.withResolvers<LoadResult>()
    const { reloader } = createReloader(read.promise)

    const running = reloader.reload('file')
    const back = reloader.rollback()
    read.resolve(at('http://new.internal'))

    expect(await running).toMatchObject({ result: 'applied' })
    expect(await back).toMatchObject({ result: 'applied', to: validConfig(sandbox).hash })
    expect(reloader.config.hash).toBe(validConfig(sandbox).hash)
  })
})

describe('all or nothing', () => {
  test('a broken file leaves everything as it was, and is reported until a reload succeeds', async () => {
    const { reloader, applied } = createReloader(broken, at('http://good.internal'))
    const before = reloader.config

    const rejected = await reloader.reload('file')
    const state = reloader.state

    expect(rejected).toMatchObject({ result: 'rejected', hash: before.hash })
    expect([applied, reloader.config, reloader.previous]).toEqual([[], before, null])
    expect(state).toMatchObject({ fileDiffers: true, loadedBy: 'start', rejection: { problems: expect.any(Array) } })
    await reloader.reload('file')
    expect(reloader.state).toMatchObject({ fileDiffers: false, loadedBy: 'file', rejection: null })
    expect(reloader.previous?.config).toBe(before)
  })

  test('an edit that cannot be put into effect is rejected with the reason, and can be applied once that is gone', async () => {
    const { reloader, fail } = createReloader(at('http://good.internal'))
    const before = reloader.config

    fail(true)
    const rejected = await reloader.reload('request')
    const kept = reloader.config
    fail(false)

    expect(rejected).toMatchObject({ result: 'rejected', problems: [{ found: 'planted' }] })
    expect(kept).toBe(before)
    expect(await reloader.reload('request')).toMatchObject({ result: 'applied' })
  })

  test('an identical file is nothing: not put into effect, and no step back', async () => {
    const { reloader, applied } = createReloader(loaded(`# other words\n${sandbox}`))

    expect(await reloader.reload('signal')).toMatchObject({ result: 'unchanged', changes: [] })
    expect([applied, reloader.previous]).toEqual([[], null])
    expect(reloader.state.loadedBy).toBe('start')
  })
})

test('an edit that switches a protection off is applied, and the outcome names it', async () => {
  const { reloader } = createReloader(at('https://a.internal'), unverified)

  const on = await reloader.reload('file')
  const off = await reloader.reload('file')

  expect([on, off]).toMatchObject([
    { result: 'applied', switchedOff: [] },
    { result: 'applied', switchedOff: ['upstreams.risk.tls.verify'] },
  ])
})

test('the warnings of what runs are kept: a rejected edit changes nothing about them, and a rollback restores its own', async () => {
  const doubtful = `{ endpoints: [http://a.internal, http://a.internal] }`
  const { reloader } = createReloader(loaded(withRisk(` ${doubtful}`)), broken)
  const messages = () => reloader.running.warnings.map(({ message }) => message)
  const first = messages()

  await reloader.reload('file')
  const second = messages()
  await reloader.reload('file')
  const third = messages()
  await reloader.rollback()

  expect([first, messages()]).toEqual([[], []])
  expect(second).toEqual(['this endpoint is listed twice'])
  expect(third).toEqual(second)
})

describe('a rollback', () => {
  test.each<[string, (reloader: Reloader) => Promise<unknown>]>([
    ['and again forth', (reloader) => reloader.rollback()],
    ['until the file is read again', (reloader) => reloader.reload('request')],
  ])('goes one step back, which leaves the file different from what runs, %s', async (_, goForth) => {
    const { reloader } = createReloader(at('http://new.internal'))
    await reloader.reload('file')

    await reloader.rollback()
    const back = [reloader.config.hash, reloader.state.fileDiffers, reloader.state.loadedBy]
    await goForth(reloader)

    expect(back).toEqual([validConfig(sandbox).hash, true, 'rollback'])
    expect([reloader.config.hash, reloader.state.fileDiffers]).toEqual([at('http://new.internal').config.hash, false])
  })

  test('has nowhere to go at first, nor when only the credentials of operators have changed', async () => {
    const { reloader } = createReloader(loaded(`admin: { token: a-token-of-an-operator }\n${sandbox}`))
    expect([await reloader.rollback(), reloader.state.isFirst]).toEqual([null, true])
    await reloader.reload('file')

    expect(reloader.previous).toBeNull()
    expect(await reloader.rollback()).toBeNull()
    expect(reloader.state.isFirst).toBe(false)
  })

  test('goes past edits of credentials alone, to what ran before them, and keeps the credentials', async () => {
    const rerouted = withRisk(' http://new.internal')
    const { reloader } = createReloader(
      loaded(rerouted),
      loaded(`admin: { token: a-token-of-an-operator }\n${rerouted}`),
      loaded(`admin: { token: another-token-of-an-operator }\n${rerouted}`),
    )
    for (let edit = 0; edit < 3; edit++) await reloader.reload('file')

    const outcome = await reloader.rollback()

    const { hash, upstreams, admin } = loaded(`admin: { token: another-token-of-an-operator }\n${sandbox}`).config
    expect(outcome).toMatchObject({ result: 'applied', to: hash })
    expect(reloader.config).toMatchObject({ upstreams, admin })
  })

  test('and the one that undoes it go to and fro, whatever credentials came between', async () => {
    const rerouted = withRisk(' http://new.internal')
    const renewed = loaded(`admin: { token: a-token-of-an-operator }\n${rerouted}`)
    const { reloader } = createReloader(loaded(rerouted), renewed)
    await reloader.reload('file')
    await reloader.reload('file')

    await reloader.rollback()
    const forth = await reloader.rollback()

    expect(forth).toMatchObject({ result: 'applied', to: renewed.config.hash })
  })

  test('after an edit that was rejected says that it never ran, and the file is rejected still', async () => {
    const { reloader } = createReloader(at('http://new.internal'), broken)
    await reloader.reload('file')
    await reloader.reload('file')
    const rejectedAt = reloader.state.rejection?.at

    const [back, forth] = [await reloader.rollback(), await reloader.rollback()]

    expect([back, forth]).toMatchObject([
      { result: 'applied', neverRan: rejectedAt },
      { result: 'applied', neverRan: rejectedAt },
    ])
    expect(reloader.state.rejection?.at).toBe(rejectedAt)
  })

  test('that was rejected is no rejection of the file: the next one clears it', async () => {
    const { reloader, fail } = createReloader(at('http://new.internal'))
    await reloader.reload('file')
    fail(true)
    await reloader.rollback()
    const { rejection } = reloader.state
    fail(false)

    const outcome = await reloader.rollback()

    expect(rejection?.trigger).toBe('rollback')
    expect(outcome).toMatchObject({ result: 'applied', neverRan: null })
    expect(reloader.state.rejection).toBeNull()
  })

  test('that would switch a protection off changes nothing, unless by force', async () => {
    const { reloader, applied, outcomes } = createReloader(unverified, at('https://a.internal'))
    await reloader.reload('file')
    await reloader.reload('file')

    const unforced = await reloader.rollback()
    const counts = [applied.length, outcomes.length]
    const forced = await reloader.rollback(true)

    expect(unforced).toEqual({ result: 'unforced', switchesOff: ['upstreams.risk.tls.verify'] })
    expect(counts).toEqual([2, 2])
    expect(forced).toMatchObject({ result: 'applied', forced: true, switchedOff: ['upstreams.risk.tls.verify'] })
    expect(reloader.config.upstreams.risk.tls.verify).toBe(false)
  })
})
