import {
  zeroDifferences,
  zeroShadowDrops,
  zeroUncompared,
} from '../../../../src/features/candidate/observe/shadow-kinds.ts'
import type { PageView } from '../../../../src/features/overview/overview.ts'
import { allOperations, byOperation, type Group } from '../../../../src/operations.ts'

const at = '2026-11-21T02:14:07.250Z'
const before = (seconds: number): string => new Date(Date.parse(at) - seconds * 1000).toISOString()

type Status = PageView['status']
type UpstreamView = Status['upstreams'][string]
type EndpointView = UpstreamView['endpoints'][number]

const endpoint = (url: string, more: Partial<EndpointView> = {}): EndpointView => ({
  ...{ url, weight: 100, sandbox: false, inFlight: 1, pending: 0, state: 'up', since: null, reason: null },
  ...{ lastProbe: null, requests: 18_340, failures: 2, ejections: 0, countedSince: before(7200) },
  ...{ lastSuccess: before(1), failingSince: null, ejectedForSeconds: null, latencyMs: 31.5, certificate: null },
  ...{ drainUntil: null, readyUntil: null, setBy: null, setAt: null, setReason: null },
  ...more,
})

const upstream = (endpoints: readonly EndpointView[], more: Partial<UpstreamView> = {}): UpstreamView => ({
  ...{ inFlight: 2, balance: 'p2c' },
  breaker: { state: 'closed', since: before(9000), where: null, outageSince: null, reason: null, nextTry: null },
  ...{ retryBudget: { left: 10 }, candidate: null, endpoints: [...endpoints] },
  ...more,
})

const two = (group: Group): UpstreamView =>
  upstream([endpoint(`http://${group}-a.internal:8080`), endpoint(`http://${group}-b.internal:8080`)])

const messages = (
  mode: 'off' | 'report' | 'enforce',
  checked: number,
  broken: number,
): NonNullable<Status['contract']>['operations'][string]['request'] => ({
  ...{ mode, checked: mode === 'off' ? 0 : checked, broken: mode === 'off' ? 0 : broken },
  rejected: mode === 'enforce' ? broken : 0,
  unchecked: { 'too-large': 0, coded: mode === 'off' ? 0 : 12, 'not-json': 0, partial: 0, 'too-complex': 0, busy: 0 },
})

const wave = (index: number, scale: number): number =>
  scale * (1 + 0.35 * Math.sin(index / 17) + 0.15 * Math.sin(index / 3.1))

const file = '/etc/lender-gateway/gateway.yaml'
const none = { p50Ms: null, p99Ms: null }
const steps = [...Array(170).keys()]
const order = { until: before(-650), setBy: 'oncall-anna', setAt: before(250), setReason: 'CHG-4712' }
const tooOld = { status: 401, kind: 'unauthenticated' as const, reason: 'the token has expired' }
const slash = 'a slash too many at the end; probably meant: POST /risk/asset-valuation'
const rejected = [
  { status: 404, kind: 'not-found' as const, reason: slash },
  { status: 502, kind: 'connect-failed' as const, reason: 'the endpoint refuses connections' },
]
const ofValuation = { group: 'valuation', side: 'primary' } as const

/** An overview with something in everything that the page can show. */
export const fixture: PageView = {
  found: [
    { ...{ severity: 'critical', about: 'upstreams.risk', alsoAbout: [] }, endpoints: ['http://risk-a.internal:8080'] },
    { severity: 'warning', about: 'config', alsoAbout: [], endpoints: [] },
    { severity: 'notice', about: 'operations.inventory.sync', alsoAbout: [], endpoints: [] },
  ],
  at,
  status: {
    ...{ version: '0.1.0', instance: { name: 'gateway-eu-1', environment: 'production', color: 'red' } },
    ...{ state: 'serving', ready: true, notReady: null, uptimeSeconds: 190_000.2, node: 'v24.21.0', pid: 1 },
    config: {
      ...{ file, path: file, hash: '3f1c0a9be2d4', previous: '9b02c7d11e55', lastRejection: null, nextTry: null },
      ...{ loadedAt: before(8040), loadedBy: 'file', requestedBy: null, fileDiffers: true },
      differingFiles: ['/etc/lender-gateway/contract.yaml'],
    },
    warnings: [
      {
        ...{ file, line: 31, column: 5, path: 'upstreams.leads.tls.verify' },
        ...{ expected: 'true', found: 'false', message: 'anybody can pretend to be this upstream' },
      },
    ],
    certificates: [
      { key: 'listen.tls.certificates[0]', names: ['lender.example'], notAfter: before(-44 * 86_400), daysLeft: 44 },
      { key: 'admin.tls', names: ['admin.lender.example'], notAfter: before(-5 * 86_400), daysLeft: 5 },
    ],
    workers: [
      { worker: 1, pid: 19, state: 'serving', startedAt: before(9), restarts: 0, inFlight: 9, config: '3f1c0a9be2d4' },
      { worker: 2, pid: null, state: 'waiting', startedAt: null, restarts: 7, inFlight: null, config: null },
    ],
    upstreams: {
      ...{ valuation: two('valuation'), financing: two('financing'), analysis: two('analysis') },
      risk: upstream(
        [
          endpoint('http://risk-a.internal:8080', {
            ...{ state: 'down', since: before(380), reason: 'connection refused', inFlight: 0, failures: 212 },
            ...{ latencyMs: null, lastSuccess: before(390), failingSince: before(380) },
            lastProbe: { at: before(2), latencyMs: 0.4, status: null, reason: 'connection refused', ok: false },
          }),
          endpoint('http://risk-b.internal:8080', {
            ...{ drainUntil: before(-700), setBy: 'oncall-anna', setAt: before(200), state: 'draining' },
            inFlight: 3,
          }),
        ],
        {
          breaker: {
            ...{ state: 'open', since: before(200), where: 'in 1 of 2 workers', outageSince: null },
            ...{ reason: 'http://risk-a.internal:8080 refuses connections (ECONNREFUSED)', nextTry: before(-4) },
          },
          retryBudget: { left: 0 },
        },
      ),
      inventory: two('inventory'),
      leads: upstream([endpoint('http://leads-a.internal:8080')], {
        candidate: {
          ...{ inFlight: 1, balance: null, breaker: null, endpoints: [endpoint('http://leads-next.internal:8080')] },
          ...{ shadow: null, comparison: null },
          shift: {
            ...{ share: 0.05, cause: 'steps', stopped: false, by: null, reason: null, since: before(300) },
            ...{ until: null, afterwards: null },
            paused: { by: '10.0.0.9', reason: '<b>rehearsal</b>', since: before(60), until: null },
            step: { reached: 2, of: 4, nextShare: 0.25, nextAt: null },
          },
        },
      }),
      compliance: two('compliance'),
      market: upstream([
        endpoint('http://market-a.internal:8080', {
          ...{ state: 'ejected', since: before(25), reason: '5 failures in a row', ejections: 2 },
          ...{ ejectedForSeconds: 7.4, failures: 18 },
        }),
        endpoint('http://market-b.internal:8080'),
      ]),
    },
    limits: {
      rate: {
        ...{ store: 'redis', server: 'redis.internal:6379', state: 'local', since: before(310) },
        ...{ reason: 'connection refused', where: null, evictions: 0 },
      },
      concurrency: [
        { key: 'limits.concurrency', inFlight: 12, limit: 10_000 },
        { key: 'upstreams.market.concurrency', inFlight: 60, limit: 60 },
      ],
      eventLoop: { delayMs: 1.2, limitMs: 200, sheds: false, since: before(190_000), where: null },
    },
    clients: { methods: ['apiKey', 'jwt'], count: 12, disabled: 1 },
    tokens: {
      jwt: {
        source: 'url',
        keys: 2,
        error: 'it responded with 503',
        since: before(5),
        lastSuccess: before(8),
        where: null,
      },
      ...{ introspection: null, operators: null, proofs: { remembered: 1204, room: 1_000_000 } },
    },
    cache: {
      ...{ bytes: 1_204_224, maxBytes: 67_108_864, evictions: 0 },
      redis: {
        ...{ server: 'cluster redis-1.internal:6379, redis-2.internal:6379', state: 'shared', since: before(9000) },
        ...{ reason: null, found: 204, rejected: 0, dropped: 0, where: null },
      },
      operations: {
        'market.insights': {
          ...{ bytes: 1_204_224, entries: 310, hitRatio: 0.942, hit: 18_302, stale: 4, miss: 1010, revalidated: 98 },
          ...{ collapsed: 20, bypass: 7 },
        },
      },
    },
    idempotency: {
      ...{ store: 'memory', state: 'local', since: before(190_000), reason: null, where: null, entries: 18_302 },
      ...{ maxEntries: 200_000, bytes: 9_204_224, maxBytes: 67_108_864, inProgress: 4, unknown: 12 },
      ...{ oldestUnknown: before(3300), dropped: 0, rejected: 0 },
    },
    learning: null,
    contract: {
      ...{ file: '/etc/lender-gateway/contract.yaml', digest: 'a41f0c77b2d9', countedSince: before(7200) },
      operations: byOperation(({ id }) => {
        const index = allOperations.findIndex((each) => each.id === id)
        return {
          line: id === 'leads.pipeline' ? null : 12 + index * 40,
          request: messages(id === 'inventory.sync' ? 'enforce' : 'report', 18_340, index % 5 === 0 ? 550 : 0),
          response: messages(index % 3 === 2 ? 'off' : 'report', 17_902, index === 3 ? 41 : 0),
        }
      }),
    },
    operations: { 'inventory.sync': { state: 'reject', ...order } },
    retiring: 1,
    audit: {
      ...{ file: '/var/log/lender-gateway/audit.log', chain: '47fe3007d10bf399', count: 120_455 },
      hash: '514e86659da43a049d17d12e52e78aa239f0c61e049964276907c0065c8c7f2f',
      ...{ reason: 'no space left on device', since: before(40), waitingBytes: 20_480, lost: 0 },
      ...{ disk: { freeBytes: 0, sizeBytes: 20 * 1024 ** 3, fullInSeconds: 0, low: true }, state: 'failing' },
    },
    log: { level: 'debug', dropped: 3 },
    findings: [
      {
        ...{ severity: 'critical', about: 'upstreams.risk' },
        cause: 'http://risk-a.internal:8080 refuses connections (ECONNREFUSED): 212 requests failed in the last minute',
        ...{ alsoAbout: [], details: ['http://risk-a.internal:8080 is down: connection refused'], since: before(380) },
        command: 'lender-gateway explain POST /risk/asset-valuation',
      },
      {
        ...{ severity: 'warning', about: 'config' },
        cause: 'the file was rejected and is not what runs: gateway.yaml:14:7 upstreams.risk.endpoints is not a list',
        ...{ alsoAbout: [], details: [], since: before(130), command: 'lender-gateway check' },
      },
      {
        ...{ severity: 'notice', about: 'operations.inventory.sync', cause: 'an operator has it rejected' },
        ...{ alsoAbout: [], details: [], since: null, command: null },
      },
    ],
  },
  operations: allOperations.map(({ id, group, method, path }, index) => {
    const [isIdle, isRefused, fails] = [id === 'leads.pipeline', id === 'inventory.sync', group === 'risk']
    return {
      ...{ id, group, method, path, failing: fails, state: isRefused ? ('reject' as const) : ('serve' as const) },
      ...(isRefused ? order : { until: null, setBy: null, setAt: null, setReason: null }),
      pace: {
        ...{ inFlight: index, perSecond: isIdle ? 0 : wave(180, 4 + index * 9) },
        ...{ errorsPerSecond: fails ? 3.4 : 0, rejectedPerSecond: isRefused ? 1.2 : 0 },
        ...{ p50Ms: isIdle ? null : 8.2 + index * 3, p99Ms: isIdle ? null : 41 + index * 130 },
        outcomes: {
          served: isIdle ? none : { p50Ms: 8 + index * 3, p99Ms: 40 + index * 130 },
          failed: fails ? { p50Ms: 2004, p99Ms: 15_010 } : none,
          rejected: isRefused ? { p50Ms: 0.3, p99Ms: 1.2 } : none,
        },
      },
      history: {
        stepSeconds: 5,
        perSecond: steps.map((step) => (isIdle ? 0 : wave(step + index * 20, 4 + index * 9))),
        errorsPerSecond: steps.map((step) => (fails && step > 94 ? wave(step, 3) : 0)),
        p99Ms: steps.map((step) => (isIdle || step % 40 > 36 ? null : wave(step * 3, 40 + index * 90))),
      },
    }
  }),
  commands: [
    { at: before(250), by: 'oncall-anna', text: 'inventory.sync is rejected until 02:25:00.' },
    { at: before(400), by: 'deploy', text: 'The cache is cleared: 12 responses removed.' },
  ],
  unmatchedPerSecond: 0,
  promoteCommands: { leads: '/usr/bin/node /opt/gateway/src/main.ts shift leads --promote --config /etc/gateway.yaml' },
  endpointRates: [
    { ...ofValuation, url: 'http://valuation-a.internal:8080', perSecond: 6.3, errorsPerSecond: 0, share: 0.75 },
    { ...ofValuation, url: 'http://valuation-b.internal:8080', perSecond: 2.1, errorsPerSecond: 0.4, share: 0.25 },
  ],
  reloads: [
    {
      ...{ at: before(130), trigger: 'file', by: null, result: 'rejected', hash: '3f1c0a9be2d4', groups: [] },
      changes: [],
      problems: [
        {
          ...{
            file,
            line: 14,
            column: 7,
            path: 'upstreams.risk.endpoints',
            message: 'this is not a list of endpoints',
          },
          ...{ expected: 'a list of endpoints', found: '"http//risk-b:8080"', hint: 'write - http://risk-b:8080' },
        },
      ],
      held: false,
    },
    {
      ...{ at: before(8040), trigger: 'file', by: null, result: 'applied', hash: '3f1c0a9be2d4', groups: ['market'] },
      changes: ['endpoints', 'balance', 'breaker', 'retry', 'host'].map((key) => ({
        ...{ part: 'upstreams.market', group: 'market' as const, path: `upstreams.market.${key}` },
        from: key === 'host' ? null : [`http://market-${key}:8080`],
        to: ['http://market-b.internal:8080', 'http://market-a.internal:8080'],
      })),
      ...{ problems: [], held: false },
    },
  ],
  clients: {
    ...{ seen: 3, complete: true },
    rows: [
      {
        ...{ client: '<b>bank-b</b>', requests: 120, limited: 4, rejected: 2, failed: 30, p50: 12.5, p99: 950 },
        ...{ lastAt: before(2), keyId: 'bank-b-2026' },
      },
      {
        ...{ client: 'bank-a', requests: 4000, limited: 0, rejected: 0, failed: 0, p50: 10, p99: 80 },
        ...{ lastAt: before(1), keyId: null },
      },
    ],
  },
  comparisons: [
    {
      ...{ group: 'leads', verdict: '', since: before(7200) },
      ...{ compared: 4120, equal: 4111, recent: { compared: 312, equal: 308 } },
      shadow: {
        ...{ sent: 4131, pairs: 4131, underWay: 1, repeated: 52 },
        ...{ outcomes: { '2xx': 4131, '3xx': 0, '4xx': 0, '5xx': 0, failed: 0 }, dropped: zeroShadowDrops },
      },
      operations: [
        {
          ...{ operation: 'leads.pipeline', compared: 4120, equal: 4111, recent: { compared: 312, equal: 308 } },
          ...{ noisePairs: 52, noisePairsMissing: 0 },
          ...{ byKind: { ...zeroDifferences, value: 9 }, uncompared: { ...zeroUncompared, 'not-modified': 11 } },
          latency: { primary: { p50: 6.1, p95: 12.3, p99: 50.4 }, candidate: { p50: 11, p95: 21.2, p99: 1250 } },
        },
      ],
      rows: [
        {
          ...{ operation: 'leads.pipeline', kind: 'value', pointer: '/leads/*/grade', count: 9, recent: 4 },
          ...{ firstAt: before(3600), lastAt: before(12), requestId: '0192f3a4', noise: 0, otherPairs: 0 },
          pairs: [
            { digest: '3947a2859c81c500', count: 7, requestId: '0192f3a4', primary: '<b>A</b>', candidate: 'B' },
            { digest: '6b17abad921601cc', count: 2, requestId: null, primary: 'A', candidate: 'C' },
          ],
        },
      ],
      ...{ ways: 1, others: 0 },
      noise: [{ operation: 'leads.pipeline', kind: 'value', pointer: '/generatedAt', count: 52, of: 52 }],
    },
  ],
  drift: [
    {
      ...{ operation: 'risk.asset-valuation', direction: 'response', pointer: '/grade', in: 'body', rule: 'enum' },
      ...{ detail: 'must be equal to one of the allowed values', count: 41, recent: 9, firstAt: before(2600) },
      ...{ lastAt: before(4), client: 'bank-a', endpoint: 'http://risk-b.internal:8080' },
      requestId: '0192f3a4-77aa-7c55-9f30-3a1b2c3d4e5f',
    },
    {
      ...{ operation: 'valuation.score', direction: 'request', pointer: '/parts/*/amount', in: 'body', rule: 'type' },
      ...{ detail: 'must be number', count: 550, recent: 0, firstAt: before(93_000), lastAt: before(1800) },
      ...{ client: '203.0.113.7', endpoint: null, requestId: null },
    },
  ],
  rejections: Array.from({ length: 30 }, (_, index) => ({
    ...{ at: before(3 + index * 11), requestId: `0192f3a4-${String(index).padStart(4, '0')}-7c55-9f30-3a1b2c3d4e5f` },
    ...{ client: `203.0.113.${index}`, clientId: index % 3 === 0 ? 'bank-a' : null, method: 'POST' },
    operation: index % 4 === 0 ? null : ('risk.asset-valuation' as const),
    ...{ endpoint: index % 4 === 1 ? 'http://risk-a.internal:8080' : null, side: null, fellBack: false },
    ...(rejected[index % 4] ?? tooOld),
    traceId: index % 5 === 0 ? '4bf92f3577b34da6a3ce929d0e0e4736' : null,
  })),
}
