import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createReapply } from '../../../src/core/runtime/overrides.ts'
import { open } from '../../../src/features/candidate/primary.ts'
import { logInMemory, testConfig } from '../../helpers/gateway.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => vi.useRealTimers())

describe('a takeback', () => {
  const boot = (reapply: (isUrgent: boolean) => Promise<void>) => {
    const { log, lines } = logInMemory()
    const recordAdminEvent = vi.fn()
    const { shifts } = open({
      log,
      recordAdminEvent,
      reapply: createReapply(reapply, () => false),
      droppedLines: () => 0,
      config: () => testConfig(),
      channel: { notify: () => {} },
    })
    shifts.prepare({ risk: { digest: 'a', share: 0.05, steps: null } }).commit()
    return { shifts, lines, recordAdminEvent }
  }

  test('is put into effect, logged and recorded with its reason', async () => {
    const reapply = vi.fn(async (_isUrgent: boolean) => {})
    const { shifts, lines, recordAdminEvent } = boot(reapply)

    shifts.takeBack('risk', 'it fails')
    await vi.advanceTimersByTimeAsync(0)

    expect(reapply.mock.calls).toEqual([[true]])
    expect(lines).toMatchObject([{ level: 40, msg: 'shift taken back', group: 'risk', reason: 'it fails' }])
    expect(recordAdminEvent.mock.calls).toEqual([['shift taken back', { group: 'risk', reason: 'it fails' }]])
  })

  test('that workers do not take up is tried each second until they do', async () => {
    const reapply = vi.fn(async (_isUrgent: boolean) => {})
    reapply.mockRejectedValueOnce(new Error('worker 1 hangs'))
    const { shifts, lines } = boot(reapply)

    shifts.takeBack('risk', 'it fails')
    await vi.advanceTimersByTimeAsync(1100)

    expect(lines.map(({ msg }) => msg)).toEqual(['a shift could not be put into effect', 'shift taken back'])
    expect(reapply).toHaveBeenCalledTimes(2)
  })
})
