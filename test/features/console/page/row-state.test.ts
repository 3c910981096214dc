import { describe, expect, test } from 'vitest'
import type { FindingSubject, Severity } from '../../../../src/core/admin/findings/finding.ts'
import { isProblem, type RowFacts, toRowState, worstFinding } from '../../../../src/features/console/page/row-state.ts'

const asked = (all: number, failed = 0, rejected = 0): Pick<RowFacts, 'requests'> => ({
  requests: { all, failed, rejected },
})

test.each<[string, Omit<RowFacts, 'well'>, string, string]>([
  ['was asked nothing, and nothing is known of it', {}, 'off', 'idle'],
  ['was asked nothing, and its probe went well', { isProven: true }, 'good', 'serves'],
  ['serves every request', asked(5), 'good', 'serves'],
  ['was asked nothing, which what is critical may cause', { doubt: 'critical' }, 'bad', 'see above'],
  ['was asked nothing, which what is a warning may cause', { doubt: 'warning' }, 'warning', 'see above'],
  ['serves, though the gateway has a fault', { ...asked(5), doubt: 'critical' }, 'good', 'serves'],
  ['is asked, and nothing shows that it works', { ...asked(5), isProven: false }, 'off', 'idle'],
  ['has nothing counted', { requests: null }, 'off', 'idle'],
  ['fails every request', asked(5, 5), 'bad', 'fails'],
  ['fails every request that is let in', asked(5, 2, 3), 'bad', 'fails'],
  ['fails every request, in rates that are rounded', asked(0.3, 0.1 + 0.2 - 1e-9), 'bad', 'fails'],
  ['fails half of what is let in', asked(10, 4, 2), 'bad', '50 % fail'],
  ['fails a few', asked(10, 1), 'warning', '10 % fail'],
  ['fails hardly any', asked(1000, 1), 'warning', 'under 1 % fail'],
  ['fails a few, though its probe goes well', { ...asked(10, 1), isProven: true }, 'warning', '10 % fail'],
  ['rejects every request for its client’s fault', asked(5, 0, 5), 'warning', 'serves none'],
  ['rejects some for their clients’ fault', asked(5, 0, 4), 'good', 'serves'],
  ['cannot serve, and is asked nothing', { dead: 'down' }, 'bad', 'down'],
  ['cannot serve, though the last requests went well', { ...asked(5), dead: 'down' }, 'bad', 'down'],
  ['was taken out, and is dead besides', { takenOut: 'rejected', dead: 'down' }, 'off', 'rejected'],
  ['was taken out, and is asked all the same', { ...asked(5, 5), takenOut: 'rejected' }, 'off', 'rejected'],
  ['serves in part', { ...asked(5), partly: '1 of 2 up' }, 'warning', '1 of 2 up'],
  ['serves in part, and fails what it is asked', { ...asked(5, 5), partly: '1 of 2 up' }, 'bad', 'fails'],
  ['is about a critical finding', { isProven: true, finding: 'critical' }, 'bad', 'critical'],
  ['is about a critical finding, and serves in part', { partly: 'ejected', finding: 'critical' }, 'bad', 'critical'],
  ['is about a warning, while requests go well', { ...asked(5), finding: 'warning' }, 'warning', 'warning'],
  ['is about a notice', { ...asked(5), finding: 'notice' }, 'good', 'serves'],
])('what %s', (_, facts, tone, words) => {
  expect(toRowState({ well: 'serves', ...facts })).toEqual({ tone, words })
})

test('only what is bad or doubtful stays when problems alone are shown', () => {
  const tones = ['good', 'notice', 'warning', 'bad', 'off'] as const

  expect(tones.filter((tone) => isProblem({ tone, words: '' }))).toEqual(['warning', 'bad'])
})

describe('the worst finding', () => {
  type Texts = readonly string[]
  const finding = (
    severity: Severity,
    about: string,
    endpoints: Texts = [],
    alsoAbout: Texts = [],
  ): FindingSubject => ({
    ...{ severity, about, endpoints, alsoAbout },
  })

  test('is of those about the key alone', () => {
    const ofRisk = [finding('notice', 'upstreams.risk'), finding('warning', 'upstreams.risk')]
    const findings = [finding('critical', 'upstreams.market'), ...ofRisk]

    expect(worstFinding(findings, 'upstreams.risk')).toBe('warning')
    expect(worstFinding(findings, 'upstreams.leads')).toBeNull()
  })

  test.each([
    [['http://risk-b:80', 'http://risk-a:80'], true],
    [['http://risk-a:8080'], false],
    [['http://risk-a:80/v2'], false],
    [[], false],
  ])('of an endpoint is one that names it: %j', (endpoints, isNamed) => {
    const findings = [finding('warning', 'upstreams.risk', endpoints)]

    expect(worstFinding(findings, 'upstreams.risk', 'http://risk-a:80')).toBe(isNamed ? 'warning' : null)
  })

  test('is also of those about a key below it, but for its candidate, and of those that are true of it as well', () => {
    const below = finding('warning', 'upstreams.risk.concurrency')
    const candidate = finding('critical', 'upstreams.risk.candidate')
    const shared = finding('critical', 'upstreams.market', [], ['upstreams.risk'])

    expect(worstFinding([below, candidate], 'upstreams.risk')).toBe('warning')
    expect(worstFinding([below, candidate], 'upstreams.risk.candidate')).toBe('critical')
    expect(worstFinding([shared], 'upstreams.risk')).toBe('critical')
  })
})
