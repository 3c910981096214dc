/** Which orders a candidate that is down speaks against, and in what words. */
import { afterEach, describe, expect, test } from 'vitest'
import { planShift } from '../../../../src/features/candidate/commands/shift.ts'
import type { ShiftOrder } from '../../../../src/features/candidate/shift/shift-record.ts'
import { listShiftPlans } from '../../../../src/features/candidate/shift/shift-record.ts'
import { Shifts } from '../../../../src/features/candidate/shift/shifts.ts'
import { endpoint, findingInputs, risk } from '../../../core/admin/findings/finding-inputs.ts'
import { testConfig } from '../../../helpers/gateway.ts'

const next = 'http://risk-next:8080'
const steps = { shares: ['5%', '25%', '100%'], every: '15m' }
const hour = 3_600_000
const to = (share: number): ShiftOrder => ({ kind: 'to', share, ttlMs: hour })

const opened: Shifts[] = []
afterEach(() => {
  for (const each of opened.splice(0)) each.clear()
})

/** Plans an order for risk, whose candidate is down, after others were carried out. */
const plan = (candidate: object, orders: readonly ShiftOrder[], wishes: object) => {
  const settings = { upstreams: { risk: { endpoints: [risk], candidate: { endpoints: [next], ...candidate } } } }
  const config = testConfig(settings)
  const shifts = new Shifts()
  opened.push(shifts)
  shifts.prepare(listShiftPlans(config)).commit()
  for (const order of orders) shifts.order('risk', order, { by: null, reason: null }).confirm()
  const down = endpoint({ url: next, state: { name: 'down', since: null, reason: 'answered 503' } })
  const { report } = findingInputs({
    settings,
    upstreams: {
      risk: { candidate: { balance: 'p2c', breaker: null, shadow: null, comparison: null, endpoints: [down] } },
    },
  })
  const none = { to: null, for: null, pause: false, resume: false, abort: false, reason: null, force: false }
  return planShift(shifts, config, report, { group: 'risk', ...none, ...wishes })
}

const rejected = { code: 'candidate-down' }

describe('while the candidate is down, an order is carried out that', () => {
  test.each([
    ['pauses the steps', { steps }, [], { pause: true }],
    ['gives it a smaller share', { share: '25%' }, [], { to: 0.01 }],
    ['gives it the same share', { share: '25%' }, [], { to: 0.25 }],
    ['gives it no share', { share: '25%', clients: ['bank-a'] }, [], { to: 0 }],
    [
      'gives it no share after an abort, where the file names no client',
      { share: '25%' },
      [{ kind: 'abort' }],
      { to: 0 },
    ],
    ['ends a larger share', { share: '5%' }, [to(0.5)], { resume: true }],
    ['aborts', { share: '25%' }, [], { abort: true }],
    ['is forced', { share: '25%' }, [], { to: 0.5, force: true }],
  ] as const)('%s', (_, candidate, orders, wishes) => {
    expect(plan(candidate, orders, wishes)).toMatchObject({ group: 'risk', order: expect.anything() })
  })
})

describe('and one is rejected that', () => {
  test.each([
    ['gives it a larger share', { share: '5%' }, [], { to: 0.25 }],
    ['gives it a share after an abort', { share: '25%' }, [{ kind: 'abort' }], { to: 0.01 }],
    ['brings named clients back', { clients: ['bank-a'] }, [{ kind: 'abort' }], { to: 0 }],
    ['ends an abort', { share: '25%' }, [{ kind: 'abort' }], { resume: true }],
    ['lets steps go on', { steps }, [{ kind: 'pause', ttlMs: null }], { resume: true }],
    ['lets steps go on after a larger share', { steps }, [to(0.5)], { resume: true }],
  ] as const)('%s', (_, candidate, orders, wishes) => {
    expect(plan(candidate, orders, wishes)).toMatchObject(rejected)
  })

  test('says that the primary serves the clients', () => {
    expect(plan({}, [], { to: 0.25 })).toEqual({
      ...rejected,
      status: 409,
      detail: `no endpoint of the candidate of risk is up (${next} is down), so the primary serves its clients: send more there all the same with force (--force)`,
    })
  })

  test('says that requests fail where it does not', () => {
    expect(plan({ fallback: false }, [], { to: 0.25 })).toMatchObject({
      detail: expect.stringContaining('is down), so requests of its clients fail: '),
    })
  })
})
