/** Commands about a candidate at a running gateway: its response, what the log says, and what a reload leaves. */

import { afterEach, describe, expect, test } from 'vitest'
import type { StatusReport } from '../../../../src/core/runtime/status/status-part.ts'
import { planShift } from '../../../../src/features/candidate/commands/shift.ts'
import { listShiftPlans, type ShiftCommand } from '../../../../src/features/candidate/shift/shift-record.ts'
import { Shifts } from '../../../../src/features/candidate/shift/shifts.ts'
import { endpoint, risk } from '../../../core/admin/findings/finding-inputs.ts'
import { testConfig } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'

/** Boots a gateway whose risk has a candidate that was asked nothing, and so is up. */
const bootWithCandidate = async (own: object) => {
  const settings = (more: object) => ({
    upstreams: { risk: { endpoints: ['sandbox'], candidate: { endpoints: ['http://127.0.0.1:1'], ...more } } },
  })
  const live = await bootLiveGateway(settings(own))
  const shift = (body: object, group = 'risk') =>
    fetchAdmin(`${live.admin}/shift`, 'POST', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ group, ...body }),
    })
  const status = async (): Promise<unknown> => {
    const { upstreams } = (await fetchAdmin(`${live.admin}/status`)).body as object as {
      readonly upstreams: Readonly<Record<string, { readonly candidate: { readonly shift: unknown } | null }>>
    }
    return upstreams.risk?.candidate?.shift
  }
  const reload = async (next: object): Promise<number> => {
    live.edit(next)
    return (await fetchAdmin(`${live.admin}/reload`, 'POST')).status
  }
  return { live, settings, shift, status, reload }
}

const asFile = {
  ...{ share: 0.05, cause: 'file', stopped: false, by: null, reason: null, since: expect.stringMatching(/Z$/) },
  ...{ until: null, afterwards: null, paused: null, step: null },
}

test('a shift command overrides the file for its time; the log has who, why, and until when', async () => {
  const { live, shift, status } = await bootWithCandidate({ share: '5%' })
  const one = 'one of to, pause, resume and abort is expected'

  for (const [body, code, detail, group] of [
    [{ to: '5%' }, 'bad-request', 'group is expected to be one of valuation', 'risks'],
    [{}, 'bad-request', one],
    [{ to: '5%', abort: true }, 'bad-request', one],
    [{ to: '101%' }, 'bad-request', 'to is expected to be 0%, or a percentage from 0.01% to 100%'],
    [{ to: '0.001%' }, 'bad-request', 'to is expected to be 0%'],
    [{ to: '5' }, 'bad-request', 'to is expected to be 0%'],
    [{ to: '5%', for: '25h' }, 'bad-request', 'for is expected to be a duration from 1s to 24h'],
    [{ abort: true, for: '1h' }, 'bad-request', 'abort has no end'],
    [{ to: '5%', reason: 'a\nb' }, 'bad-request', 'reason is expected to be text of at most 200'],
    [{ to: '5%' }, 'no-candidate', 'market has no candidate: write upstreams.market.candidate', 'market'],
    [{ pause: true }, 'no-steps', 'risk has no steps to pause: the file has none'],
    [{ resume: true }, 'nothing-to-resume', 'nothing to resume'],
  ] as const)
    expect(await shift(body, group)).toMatchObject({
      ...{ status: code === 'bad-request' ? 400 : 409 },
      body: { code, detail: expect.stringContaining(detail) },
    })
  expect(await status()).toEqual(asFile)

  const { status: code, body } = await shift({ to: '25%', for: '2h', reason: 'CHG-4711' })

  const command = { group: 'risk', command: '25%', by: '127.0.0.1', reason: 'CHG-4711' }
  const until = expect.stringMatching(/Z$/)
  const held = { share: 0.25, cause: 'operator', by: '127.0.0.1', reason: 'CHG-4711', until }
  expect(code).toBe(200)
  expect(body).toEqual({ ...command, shift: { ...asFile, ...held, afterwards: { share: 0.05, cause: 'file' } } })
  expect(await status()).toEqual(body.shift)
  expect(live.lines.find(({ msg }) => msg === 'shift command')).toMatchObject({ ...command, ...held, share: '25%' })
})

test('an override survives edits of other keys and rejected edits, and a stop survives a rollback', async () => {
  const { live, settings, shift, status, reload } = await bootWithCandidate({ share: '5%' })
  await shift({ abort: true, reason: 'it lies' })

  const { risk } = settings({ share: '5%' }).upstreams
  expect(await reload({ upstreams: { risk, market: 'http://127.0.0.1:1' } })).toBe(200)
  expect(await status()).toMatchObject({ share: 0, stopped: true })
  expect(await reload(settings({ endpoints: [] }))).toBe(422)
  expect(await status()).toMatchObject({ share: 0, stopped: true })
  expect(await reload(settings({ share: '7%' }))).toBe(200)
  expect(await status()).toEqual({ ...asFile, share: 0.07 })
  expect((await fetchAdmin(`${live.admin}/rollback`, 'POST')).status).toBe(200)
  expect(await status()).toMatchObject({ share: 0, stopped: true, reason: 'it lies' })
})

describe('while the candidate is down', () => {
  const next = 'http://risk-next:8080'
  const steps = { shares: ['5%', '25%', '100%'], every: '15m' }
  const hour = 3_600_000
  const to = (share: number): ShiftCommand => ({ kind: 'to', share, ttlMs: hour })

  const opened: Shifts[] = []
  afterEach(() => {
    for (const each of opened.splice(0)) each.clear()
  })

  /** Plans a command for risk, whose candidate is down, after earlier commands. */
  const plan = (candidate: object, earlier: readonly ShiftCommand[], wishes: object) => {
    const config = testConfig({
      upstreams: { risk: { endpoints: [risk], candidate: { endpoints: [next], ...candidate } } },
    })
    const shifts = new Shifts()
    opened.push(shifts)
    shifts.prepare(listShiftPlans(config)).commit()
    for (const order of earlier) shifts.command('risk', order, { by: null, reason: null }).confirm()
    const down = endpoint({ url: next, state: { name: 'down', since: null, reason: 'responded with 503' } })
    const report = { upstreams: { risk: { candidate: { endpoints: [down] } } } } as unknown as StatusReport
    const none = { to: null, for: null, pause: false, resume: false, abort: false, reason: null, force: false }
    return planShift(shifts, config, report, { group: 'risk', ...none, ...wishes })
  }

  const abort = { kind: 'abort' } as const
  const named = { share: '25%', clients: ['bank-a'] }

  test.each<[string, object, readonly ShiftCommand[], object]>([
    ['pauses the steps', { steps }, [], { pause: true }],
    ['gives it a smaller share', { share: '25%' }, [], { to: 0.01 }],
    ['gives it the same share', { share: '25%' }, [], { to: 0.25 }],
    ['gives it no share', named, [], { to: 0 }],
    ['gives it no share after an abort, where the file names no client', { share: '25%' }, [abort], { to: 0 }],
    ['ends a larger share', { share: '5%' }, [to(0.5)], { resume: true }],
    ['aborts', { share: '25%' }, [], { abort: true }],
    ['is forced', { share: '25%' }, [], { to: 0.5, force: true }],
  ])('while the candidate is down, a command is carried out that %s', (_, candidate, earlier, wishes) => {
    expect(plan(candidate, earlier, wishes)).toMatchObject({ group: 'risk', command: expect.anything() })
  })

  const why = `no endpoint of the candidate of risk is up (${next} is down), so `
  const serves = `${why}the primary serves its clients: force (--force) sends more clients there all the same`

  test.each<[string, object, readonly ShiftCommand[], object, string]>([
    ['gives it a larger share', { share: '5%' }, [], { to: 0.25 }, serves],
    [
      'gives it a larger share, without fallback',
      { fallback: false },
      [],
      { to: 0.25 },
      `${why}requests of its clients fail: `,
    ],
    ['gives it a share after an abort', { share: '25%' }, [abort], { to: 0.01 }, serves],
    ['brings named clients back', { clients: ['bank-a'] }, [abort], { to: 0 }, serves],
    ['ends an abort', { share: '25%' }, [abort], { resume: true }, serves],
    ['continues the steps', { steps }, [{ kind: 'pause', ttlMs: null }], { resume: true }, serves],
    ['continues the steps after a larger share', { steps }, [to(0.5)], { resume: true }, serves],
  ])('while the candidate is down, a command is rejected that %s', (_, candidate, earlier, wishes, detail) => {
    expect(plan(candidate, earlier, wishes)).toMatchObject({
      ...{ code: 'candidate-down', status: 409, detail: expect.stringContaining(detail) },
    })
  })
})
