/** The preflight of a reload: what ends the wait of an edit that is held back. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { LoadResult } from '../../../../src/core/config/load/load.ts'
import { heldBackHint, notReplyingHint, WorkersNotReplyingError } from '../../../../src/core/runtime/proxy-server.ts'
import { parse, sandbox, withRisk } from '../../config/helper.ts'
import { createReloader, later, loaded, old, one, two } from './reloader-fixture.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => vi.useRealTimers())

test('an edit that is held back is rejected since its first try, however often it is tried', async () => {
  const { reloader } = await heldBack()

  await later(20)

  expect(reloader.state.rejection?.since).toBe(1_000_000)
  expect(reloader.state.rejection?.at).toBeGreaterThan(1_010_000)
})

test('an edit that cannot run is rejected since it was first, until the file changes or takes effect', async () => {
  const { reloader, file } = createReloader()
  const broken = (digest: string): LoadResult => ({
    ...{ ok: false, problems: [], unreadable: false },
    sources: [{ file: 'gateway.yaml', digest, limit: 1 }],
  })
  const reject = async (content: LoadResult): Promise<number | undefined> => {
    vi.advanceTimersByTime(1000)
    file.content = content
    await reloader.reload('request')
    return reloader.state.rejection?.since
  }

  const first = [await reject(broken('a')), await reject(broken('a'))]
  const other = await reject(broken('b'))
  await reject(loaded(sandbox))
  const again = await reject(broken('b'))

  expect([first, other, again]).toEqual([[1_001_000, 1_001_000], 1_003_000, 1_005_000])
})

describe('workers do not reply', () => {
  const silentWorker = () => {
    const made = createReloader()
    made.file.reason = null
    made.file.failing = new WorkersNotReplyingError('worker 1 did not reply')
    return made
  }

  test('an edit is held back, and takes effect once they do', async () => {
    const { reloader, file, outcomes } = silentWorker()

    const rejected = await reloader.reload('file')
    await later(1)
    const again = outcomes.at(-1)
    file.failing = false
    await later(2)

    expect(rejected).toMatchObject({
      held: { tries: 1, known: false },
      problems: [{ found: 'worker 1 did not reply', hint: heldBackHint }],
      silentWorkers: `worker 1 did not reply: ${heldBackHint}`,
    })
    expect(again).toMatchObject(['preflight', { held: { tries: 2, known: true } }])
    expect(reloader.config.hash).toBe(one.config.hash)
    expect(reloader.state).toMatchObject({ loadedBy: 'preflight', nextTryAt: null, rejection: null })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a reload by force and a rollback are not tried again', async () => {
    const { reloader, file } = silentWorker()

    const forced = await reloader.reload('request', true)
    file.failing = false
    await reloader.reload('request')
    file.failing = new WorkersNotReplyingError('worker 1 did not reply')
    const rollback = await reloader.rollback()

    for (const each of [forced, rollback])
      expect(each).toMatchObject({ held: null, silentWorkers: `worker 1 did not reply: ${notReplyingHint}` })
    expect(vi.getTimerCount()).toBe(0)
  })
})

/** Starts with an edit that is held back. */
const heldBack = async () => {
  const made = createReloader()
  await made.reloader.reload('file')
  return made
}

describe('the wait ends', () => {
  test('with a rollback: the file is not read until it changes or on request', async () => {
    const { reloader, file } = createReloader()
    file.reason = null
    await reloader.reload('file')
    Object.assign(file, { content: two, reason: 'connection refused' })
    await reloader.reload('file')

    await reloader.rollback()
    file.reason = null
    await later(120)

    expect([reloader.config.hash, file.reads, vi.getTimerCount()]).toEqual([old, 2, 0])
    expect(reloader.state).toMatchObject({ fileDiffers: true, nextTryAt: null })
  })

  type Made = ReturnType<typeof createReloader>
  const failing = { reason: null, failing: true }

  test.each<[string, (made: Made) => unknown, number, object]>([
    [
      'a rollback with nowhere to go as well: who asks for it wants no edit',
      async ({ reloader }) => expect(await reloader.rollback()).toBeNull(),
      1,
      {},
    ],
    [
      'a file that is broken since',
      ({ reloader, file }) => {
        file.content = parse('listen: 7')
        return reloader.reload('file')
      },
      2,
      {},
    ],
    [
      'an edit that cannot be put into effect though it is reached',
      ({ file }) => Object.assign(file, failing),
      2,
      { rejection: { problems: [{ found: 'planted' }] } },
    ],
  ])('with %s', async (_, act, reads, state) => {
    const made = await heldBack()

    await act(made)
    await later(120)

    expect([made.file.reads, vi.getTimerCount()]).toEqual([reads, 0])
    expect(made.reloader.state).toMatchObject({ nextTryAt: null, ...state })
  })

  test('with a rollback that the next try has been waiting for', async () => {
    const { reloader, file } = await heldBack()
    await later(0.999)

    const back = reloader.rollback()
    vi.advanceTimersByTime(1)
    await back
    await later(120)

    expect([file.reads, reloader.state.nextTryAt]).toEqual([1, null])
  })

  test('with the close, also when a try is under way then', async () => {
    const { reloader, file } = createReloader()
    const running = reloader.reload('file')

    reloader.close()
    await running
    await later(120)

    expect([file.reads, vi.getTimerCount(), reloader.state.nextTryAt]).toEqual([1, 0, null])
  })

  test('and begins anew with another reload, which is reported in full', async () => {
    const { reloader, outcomes } = await heldBack()
    await later(7)

    await reloader.reload('request')

    expect(outcomes.at(-1)).toMatchObject(['request', { held: { tries: 1, nextTryAt: 1_008_000, known: false } }])
    reloader.close()
  })
})

describe('a file that has changed since', () => {
  test('is simply reloaded', async () => {
    const { reloader, file, outcomes } = await heldBack()
    await later(1)

    file.content = two
    await later(2)

    expect(outcomes.at(-1)).toMatchObject(['file', { result: 'rejected', held: { hash: two.config.hash, tries: 1 } }])
    reloader.close()
  })

  const unwatched = loaded(`reload: { watch: false }\n${sandbox}`)

  test('is left until an operator reloads it, when it is not watched', async () => {
    const { reloader, file, preflighted } = createReloader(unwatched)
    await reloader.reload('request')

    file.content = loaded(`reload: { watch: false }\n${withRisk(' http://two.internal')}`)
    file.reason = null
    await later(120)

    expect([file.reads, preflighted]).toEqual([2, [one.config.hash]])
    expect(reloader.state).toMatchObject({
      fileDiffers: true,
      nextTryAt: null,
      rejection: {
        problems: [
          { message: expect.stringContaining('reload.watch is false'), hint: 'to apply it: lender-gateway reload' },
        ],
      },
    })
    expect(await reloader.reload('request')).toMatchObject({ result: 'applied' })
  })

  test('and says what runs differs no longer', async () => {
    const { reloader, file } = createReloader(unwatched)
    await reloader.reload('request')

    file.content = unwatched
    await later(1)

    expect(reloader.state).toMatchObject({ fileDiffers: false, rejection: null, nextTryAt: null })
  })
})
