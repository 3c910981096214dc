import { describe, expect, test } from 'vitest'
import type { PrimaryParts } from '../../../../src/core/runtime/primary-part.ts'
import { applyFailedProblem } from '../../../../src/core/runtime/reload/reload-problems.ts'
import type { AuditWriterState } from '../../../../src/features/audit/audit-writer.ts'
import { zeroCacheOutcomes } from '../../../../src/features/cache/store/stored-response.ts'
import { at, cause, endpoint, risk } from '../../../core/admin/findings/finding-inputs.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { tokenBindingSettings } from '../../../helpers/token-binding.ts'
import { signingKey } from '../../../helpers/tokens.ts'
import {
  asset,
  edit,
  expectFindings,
  found,
  type Inputs,
  lines,
  type Row,
  responded,
  riskOf,
  trafficOf,
  tryIt,
} from './helper.ts'

test('a gateway that is well has none', () => {
  expect(found()).toEqual([])
})

test('the worst comes first, whatever it is of', () => {
  const unmatched = cause({ kind: 'not-found', reason: null, operation: null, endpoint: null })
  const all = { causes: [cause(), unmatched], ...edit() }

  expectFindings('', all, /^critical upstreams.risk /, /^warning config /, /^notice clients /)
})

test.each([
  [at - 5000, '02:03:55'],
  [null, '01:04:00'],
])('a worker that hangs does so since it was last heard of, and is replaced when killed', (heardAt, since) => {
  const counts = { restarts: 0, inFlight: null, config: null }
  const worker = { worker: 2, pid: 4711, state: 'not replying', startedAt: at - 3_600_000, heardAt, ...counts }
  const parts = { audit: { state: null }, workers: { states: [worker] } } as object as PrimaryParts

  expect(lines({ parts })).toEqual([expect.stringMatching(`${since} worker 2 does not reply$`)])
  expect(found({ parts })[0]?.details).toEqual(['if this lasts: kill -9 4711, and another worker starts'])
})
describe('Redis that cannot be used', () => {
  const gone = { state: 'local', since: at, reason: 'connect ECONNREFUSED 127.0.0.1:6379', where: null } as const
  const rate = { store: 'redis', server: 'redis-a:6379', evictions: 0, ...gone } as const
  const redis = { ...{ found: 0, rejected: 0, dropped: 0 }, server: 'redis-b:6379', ...gone }
  const limits = { rate, concurrency: [], eventLoop: null }
  const cache = { bytes: 0, maxBytes: 1, evictions: 0, redis, operations: [] }
  const byAddress = { address: { rate: '1/s' } }

  test.each<Row>([
    [
      'is named for what it is used for, with the reason',
      { settings: { limits: byAddress }, report: { limits, cache } },
      /Redis \(redis-a:6379\) cannot be used \(connect ECONNREFUSED 127.0.0.1:6379\): this gateway counts rates alone, so several gateways together let more through$/,
      /Redis \(redis-b:6379\) cannot be used \(connect ECONNREFUSED 127.0.0.1:6379\): this gateway uses only responses that it stored itself$/,
    ],
    ['is nothing where rates are in memory', { report: { limits: { ...limits, rate: { ...rate, store: 'memory' } } } }],
  ])('%s', expectFindings)

  test.each([
    ['reject', 'critical', 'requests with a DPoP proof are rejected (auth.dpop.withoutRedis: reject)'],
    ['serve', 'warning', 'a DPoP proof can be used once at each gateway (auth.dpop.withoutRedis: serve)'],
  ])('has proofs decided about (%s): %s', (withoutRedis, severity, proofs) => {
    const bound = tokenBindingSettings(signingKey('ES256', 'issuer'), { dpop: { withoutRedis } })
    const said = (more: object) =>
      lines({ settings: { ...bound, limits: { redis: { url: 'redis://redis' }, ...more } }, report: { limits } })
    const sentence = `${severity} redis 02:04:00 Redis (redis-a:6379) cannot be used (${gone.reason}): ${proofs}`

    expect([...said({}), ...said(byAddress)]).toEqual([
      sentence,
      `${sentence}, and this gateway counts rates alone, so several gateways together let more through`,
    ])
  })
})

const problem = {
  file: 'gateway.yaml',
  ...{ line: 12, column: 9, path: 'upstreams.market' },
  ...{ message: 'not a URL', expected: 'a URL', found: '"market-b"' },
}

describe('an edit', () => {
  const restart = ['until the file is corrected, a restart fails']

  test('that was rejected is named with the place and the problem', () => {
    expect(found(edit({ at: at + 5000, problems: [problem, problem] }))).toEqual([
      {
        ...{ severity: 'warning', about: 'config', alsoAbout: [], details: restart },
        cause:
          'an edit of gateway.yaml was rejected, and the running configuration stays in effect: gateway.yaml:12:9 upstreams.market: not a URL, and 1 more',
        ...{ since: '2026-11-21T02:04:00.000Z', command: 'lender-gateway check gateway.yaml' },
      },
    ])
  })

  const notApplied = applyFailedProblem('gateway.yaml', new Error('audit.file audit.log cannot be used: EACCES'))
  const ofRollback = { trigger: 'rollback', problems: [{ ...problem, path: '' }], isFileSound: true } as const
  const noRollback = edit(ofRollback, { differing: [] })
  const rolledBack = edit({}, { rolledBack: true })

  test.each<Row>([
    ['names its files', edit({}, { differing: ['contract.yaml', 'b.yaml'] }), / of contract.yaml and b.yaml was /],
    [
      'is held back',
      edit({ problems: [problem] }, { nextTryAt: at + 20_000 }),
      / is held back, and the running configuration/,
    ],
    [
      'never ran where a rollback came after it',
      { ...rolledBack, loadedAt: at + 1 },
      /rejected, and never took effect$/,
    ],
    [
      'ran on before that',
      { ...rolledBack, loadedAt: at - 1 },
      /was rejected, and the running configuration stays in effect$/,
    ],
    ['could not be applied', edit({ problems: [notApplied] }), /not be applied: audit\.file audit\.log .*: EACCES$/],
    ['is none where a rollback was rejected', noRollback, /a rollback was rejected, .*: gateway.yaml:12:9: not a URL$/],
  ])('%s', expectFindings)

  test.each([
    ['rejected though its file is sound', edit({ isFileSound: true }), 'reload'],
    ['held back', edit({ isFileSound: true }, { nextTryAt: at + 1 }), tryIt],
    ['no reply of a worker', edit({ isFileSound: true, areWorkersSilent: true }, { nextTryAt: at + 1 }), 'reload'],
    ['none, but a rollback', noRollback, 'rollback'],
  ])('that is %s leads to a command', (_, inputs, command) => {
    expect(found(inputs)).toMatchObject([{ about: 'config', command: `lender-gateway ${command}` }])
  })

  test('that a restart fails by says so after a rollback as well', () => {
    expect([1, -1].map((ms) => found({ ...rolledBack, loadedAt: at + ms })[0]?.details)).toEqual([restart, restart])
  })
})

describe('the audit log', () => {
  const file = '/var/log/audit.log'
  const withAudit = (state: Partial<AuditWriterState>) => {
    const written = {
      ...{ file, chain: '', count: 1, hash: '', reason: null, since: at, waitingBytes: 0, lost: 0, disk: null },
    }
    return { parts: { audit: { state: { ...written, ...state } }, workers: { states: [] } } as object as PrimaryParts }
  }
  const reason = 'ENOSPC: no space left on device'
  const unwritten = cause({ kind: 'audit-unavailable', reason: null, endpoint: null })
  const disk = { freeBytes: 1.5 * 1024 ** 3, sizeBytes: 20 * 1024 ** 3, fullInSeconds: 26_220, low: true }
  const key = `file:${folderWith({ key: 'k'.repeat(32) })}/key`
  const onFailure = (what: string) => ({ settings: { audit: { file, key, onFailure: what } } })

  test.each<Row>([
    ['not written', withAudit({ reason }), /^critical audit .*audit.log: ENOSPC: no space left/],
    ['waiting', { ...withAudit({ reason }), causes: [unwritten] }, /^critical .*wait in memory while there is room$/],
    [
      'full soon',
      { ...withAudit({ disk }), ...onFailure('reject') },
      /^warning audit .*the disk of the audit log \S+audit.log has 1.5 GiB free of 20.0 GiB, and at the pace of the last hour it is full in 7 h 17 min: requests are rejected when it is full \(audit.onFailure: reject\)$/,
    ],
    [
      'nearly full',
      { ...withAudit({ disk: { ...disk, fullInSeconds: null } }), ...onFailure('continue') },
      / of 20.0 GiB: lines wait in memory when it is full, up to 16 MiB, and are then lost \(audit.onFailure: continue\)$/,
    ],
    ['not full', withAudit({ disk: { ...disk, low: false } })],
    ['not written, and nearly full', withAudit({ reason, disk }), /^critical /],
    ['incomplete', withAudit({ lost: 1 }), /^notice .*the audit log lacks 1 line, and says where$/],
    ['complete', withAudit({})],
  ])('is found as one that is %s', expectFindings)

  test.each([
    // A disk without inodes says the same.
    [{ reason }, 'df -h /var/log; df -i /var/log'],
    [{ disk }, 'df -h /var/log'],
  ])('leads to what shows its disk', (state, command) => {
    expect(found(withAudit(state))).toMatchObject([{ command }])
  })
})

describe('what an operator has ended for a while', () => {
  const none = { get: () => null, all: [] }
  const until = 'until 2026-11-21T02:05:00.000Z'
  const overridden = (what: 'operations' | 'endpoints', state: 'drain' | 'reject', ...keys: readonly string[]) => {
    const override = { state, by: 'anna', reason: null, since: at, until: at + 60_000, endsAt: 60_000 } as const
    const view = { get: (key: string) => (keys.includes(key) ? override : null), all: [] }
    return found({ overrides: { operations: none, endpoints: none, learning: none, shifts: none, [what]: view } })
  }

  test('is an endpoint: a notice, with what ends that, unless an edit has taken it out', () => {
    expect(overridden('endpoints', 'drain', `risk ${risk}`, 'risk http://taken-out:8080')).toMatchObject([
      {
        ...{ severity: 'notice', about: 'upstreams.risk', command: `lender-gateway endpoint ready risk ${risk}` },
        cause: `anna drains ${risk} ${until}: it gets no new requests`,
      },
    ])
  })

  test('is an operation: a warning, with the end of that', () => {
    expect(overridden('operations', 'reject', 'inventory.sync')).toMatchObject([
      { severity: 'warning', about: 'operations.inventory.sync', cause: `anna rejects every request ${until}` },
    ])
  })
})

describe('an operation whose upstream responds with errors of its own', () => {
  const passedOn = (count: number, ago: number): Inputs => ({
    ...trafficOf(asset, { passedOn: count }),
    ...riskOf(endpoint({ lastFailure: responded(503, at - ago) })),
  })
  const its = 'operations.risk.asset-valuation its upstream'
  const words = `5xx of its own (${risk} responded with 503 last): 30 of 40 requests in the last minute`

  test.each<Row>([
    ['critical', passedOn(30, 1000), `critical ${its} responds with ${words}`, /^notice /],
    // What is counted as of the last minute may be older by one sample.
    ['over', passedOn(30, 61_000), `warning ${its} responded with ${words}, none since 02:02:59`],
    ['few', trafficOf(asset, { passedOn: 4 }), /^warning /],
    ['fewer', trafficOf(asset, { passedOn: 2 })],
  ])('is found as %s', expectFindings)
})

describe('an operation whose cache responds with a stored error', () => {
  const id = 'market.insights'
  const stored = { status: 503, sentAt: at - 240_000, freshUntil: at + 60_000, servedAt: at - 1000 }
  const cached = (storedErrors: number, error: Partial<typeof stored> = {}, settings: object = {}): Inputs => {
    const lastError = { ...stored, ...error }
    const operations = [{ operation: id, bytes: 0, entries: 1, ...zeroCacheOutcomes, lastError }] as const
    return {
      settings: { operations: { [id]: { cache: true } }, ...settings },
      ...trafficOf(id, { storedErrors }),
      report: { cache: { bytes: 0, maxBytes: 0, evictions: 0, redis: null, operations } },
    }
  }

  test.each<Row>([
    [
      'critical, and no fault of its upstream',
      cached(38),
      'critical operations.market.insights 02:00:00 the cache responds with a stored 503, which the upstream sent at 02:00:00 and which is fresh until 02:05:00: 38 of 40 requests in the last minute',
    ],
    ['for few requests', cached(1), /^warning /],
    ['over', cached(38, { servedAt: at - 20_000 }), /^notice .* responded with a stored 503, .*, none since 02:03:40$/],
    ['for no request', cached(0)],
    ['validated', cached(1, { freshUntil: stored.sentAt }), /sent at 02:00:00 and which it has confirmed by 304:/],
  ])('is found as %s', expectFindings)

  test('is to be cleared, on each gateway where Redis is shared', () => {
    const shared = { cache: { redis: { url: 'redis://redis' } } }
    const command = 'lender-gateway cache clear market.insights'

    expect([...found(cached(38)), ...found(cached(1, {}, shared))]).toMatchObject([
      { command, details: [] },
      { command, details: ['each gateway has its own memory: run the command on each of them'] },
    ])
  })
})
test.each([
  [2, 'it responded with 500: the keys fetched earlier (2) stay in use'],
  [0, 'it responded with 500: no token can be verified'],
])('keys of the issuer of operators that cannot be fetched, with %d known, are a warning', (keys, words) => {
  const state = { source: 'url', keys, error: 'it responded with 500', since: at - 60_000, lastSuccess: null } as const

  expect(found({ operatorKeys: state })).toMatchObject([
    {
      ...{ severity: 'warning', about: 'admin.jwt', command: `lender-gateway ${tryIt}` },
      cause: `the keys of the issuer of operators (admin.jwt.jwks) cannot be fetched: ${words}`,
    },
  ])
  expect(found({ operatorKeys: { ...state, error: null } })).toEqual([])
})
