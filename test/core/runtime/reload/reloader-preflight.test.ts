/**
 * The preflight of a reload: an edit whose endpoints are not reached is held back. How the wait ends is in
 * `reloader-deferred.test.ts`.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { unreachableProblems } from '../../../../src/core/runtime/reload/reload-problems.ts'
import { sandbox, withRisk } from '../../config/helper.ts'
import { createReloader, later, loaded, old, one, two } from './reloader-fixture.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => vi.useRealTimers())

describe('an edit of which no endpoint is reached', () => {
  test('is rejected with the line, the endpoint and the reason, and what ran runs on', async () => {
    const { reloader } = createReloader()

    const outcome = await reloader.reload('file')

    expect(outcome).toMatchObject({
      ...{ result: 'rejected', hash: old, held: { tries: 1, nextTryAt: 1_001_000, known: false } },
      problems: [
        {
          ...{ line: 9, column: 9, path: 'upstreams.risk.endpoints', found: 'http://one.internal connection refused' },
          message: 'no new endpoint of risk can be reached',
          hint: 'to apply it anyway: lender-gateway reload --force',
        },
      ],
    })
    expect(reloader.config.hash).toBe(old)
    expect(reloader.state).toMatchObject({ fileDiffers: true, rejection: { at: 1_000_000 }, nextTryAt: 1_001_000 })
    reloader.close()
  })

  test('is tried again after 1, 2, 4, 8, 16, and then every 30 s, and the same is reported in full once', async () => {
    const { reloader, file, outcomes } = createReloader()
    const at: number[] = []

    await reloader.reload('file')
    for (let second = 1; second <= 121; second++) {
      const before = file.reads
      await later(1)
      if (file.reads > before) at.push(second)
    }

    expect(at).toEqual([1, 3, 7, 15, 31, 61, 91, 121])
    expect(outcomes.slice(1).every(([trigger]) => trigger === 'preflight')).toBe(true)
    expect(outcomes.map(([, outcome]) => outcome.result === 'rejected' && outcome.held?.known)).toEqual([
      false,
      ...Array.from({ length: 8 }, () => true),
    ])
    expect(reloader.state.nextTryAt).toBe(1_151_000)
    reloader.close()
  })

  test('is reported in full again when the reason is another', async () => {
    const { reloader, file, outcomes } = createReloader()
    await reloader.reload('file')

    file.reason = 'timed out'
    await later(1)

    expect(outcomes.at(-1)).toMatchObject(['preflight', { held: { tries: 2, known: false } }])
    reloader.close()
  })

  test('takes effect as soon as one is reached, and nothing is tried any more', async () => {
    const { reloader, file, outcomes } = createReloader()
    await reloader.reload('file')

    file.reason = null
    await later(120)

    expect(outcomes).toMatchObject([
      ['file', { result: 'rejected' }],
      ['preflight', { result: 'applied' }],
    ])
    expect(reloader.state).toMatchObject({
      loadedBy: 'preflight',
      fileDiffers: false,
      rejection: null,
      nextTryAt: null,
    })
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('an edit whose endpoints cannot even be tried is rejected, and nothing waits', async () => {
  const { reloader, file } = createReloader()
  file.reason = 'planted'

  const outcome = await reloader.reload('file')

  expect(outcome).toMatchObject({ result: 'rejected', problems: [{ found: 'planted' }], held: null })
  expect(vi.getTimerCount()).toBe(0)
})

describe('endpoints are not tried', () => {
  test('when nothing has changed', async () => {
    const { reloader, file, preflighted } = createReloader()
    file.content = loaded(`# other words\n${sandbox}`)

    expect(await reloader.reload('file')).toMatchObject({ result: 'unchanged' })
    expect(preflighted).toEqual([])
  })

  test('when the edit is rejected anyway', async () => {
    const { reloader, file, preflighted } = createReloader()
    file.content = loaded(`listen: { port: 1 }\n${withRisk(' http://one.internal')}`)

    expect(await reloader.reload('file')).toMatchObject({ result: 'rejected', held: null })
    expect([preflighted, vi.getTimerCount()]).toEqual([[], 0])
  })

  test('by a rollback, nor when the same is put into effect again', async () => {
    const { reloader, file, preflighted } = createReloader()
    file.reason = null
    await reloader.reload('file')
    file.reason = 'connection refused'

    await reloader.reapply()

    expect(await reloader.rollback()).toMatchObject({ result: 'applied', to: old })
    expect(preflighted).toEqual([one.config.hash])
  })

  test('by force, which is reported', async () => {
    const { reloader, preflighted } = createReloader()
    await reloader.reload('file')

    const outcome = await reloader.reload('request', true)
    await later(60)

    expect(outcome).toMatchObject({ result: 'applied', to: one.config.hash, forced: true })
    expect(preflighted).toEqual([one.config.hash])
    expect(reloader.state).toMatchObject({ loadedBy: 'request', nextTryAt: null, rejection: null })
  })

  test('when one of the requests that share a reload forces it; the next one is not forced', async () => {
    const { reloader, file } = createReloader()

    const [shared, forced] = [reloader.reload('file'), reloader.reload('request', true)]
    const outcome = await forced
    file.content = two
    const next = await reloader.reload('file')

    expect(await shared).toBe(outcome)
    expect(outcome).toMatchObject({ result: 'applied', forced: true })
    expect(next).toMatchObject({ result: 'rejected' })
    reloader.close()
  })
})

test('of many endpoints that were not reached the first ones are named', () => {
  const endpoints = Array.from({ length: 7 }, (_, i) => ({ name: `http://${i}`, reason: 'timed out' }))

  const [problem] = unreachableProblems([{ group: 'risk', side: 'primary', endpoints }], one.provenance, 'gateway.yaml')

  expect(problem?.found).toMatch(/^http:\/\/0 timed out, .*http:\/\/4 timed out, 2 more$/)
})
