/** Any file in which a group has a candidate: with the edit, that group's upstream is what the candidate was. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { Config } from '../../../../src/core/config/config.ts'
import { planPromotion, promotedUpstream } from '../../../../src/features/candidate/promote/promote-candidate.ts'
import { groups } from '../../../../src/operations.ts'
import { parse, validConfig, withRisk } from '../../../core/config/helper.ts'

const promote = (text: string) => {
  const loaded = parse(text)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems, null, 2))
  return planPromotion(text, 'gateway.yaml', 'risk', loaded, {})
}

type Values = Readonly<Record<string, fc.Arbitrary<unknown>>>
const some = (required: readonly string[], values: Values) => fc.record({ ...values }, { requiredKeys: [...required] })

const time = fc.constantFrom('1s', '2500ms', '7s')
const url = fc.constantFrom('http://a.internal:8080', 'https://b.internal/base', 'sandbox')
const policy = (required: readonly string[], values: Values) => fc.oneof(fc.constant('none'), some(required, values))

/** The keys that `defaults`, a group and a candidate may all have. */
const policies = {
  timeouts: some([], { connect: time, headers: fc.oneof(time, fc.constant('none')), body: time }),
  keepAlive: fc.constantFrom('none', '1s'),
  maxPending: fc.integer({ min: 0, max: 9 }),
  balance: fc.constantFrom('p2c', 'round-robin'),
  tls: some([], { serverName: fc.constantFrom('x.internal', 'none'), minVersion: fc.constant('TLSv1.3') }),
  healthCheck: policy(['path'], { path: fc.constantFrom('/a', '/b'), interval: time, healthyAfter: fc.nat(3) }),
  outlier: policy([], { consecutiveFailures: fc.constantFrom('none', 7), ejectionTime: time }),
  circuitBreaker: policy([], { openFor: time, probes: fc.integer({ min: 1, max: 9 }) }),
}

const fields = some([], {
  set: fc.dictionary(fc.constantFrom('X-A', 'x-a2', 'X-B'), fc.constantFrom('1', 'a: b', '# no comment')),
  remove: fc.array(fc.constantFrom('X-C', 'X-D'), { maxLength: 2 }),
})

const endpoint = fc.oneof(url, some(['url'], { url, weight: fc.integer({ min: 1, max: 9 }) }))
const target = {
  endpoints: fc.array(endpoint, { minLength: 1, maxLength: 3 }),
  host: fc.constantFrom('client', 'endpoint', 'name.internal'),
  ...{ request: fields, response: fields },
}

/** What a candidate alone has, and leaves behind. */
const own = {
  ...{ share: fc.constantFrom('5%', '100%'), fallback: fc.boolean(), clients: fc.constant(['bank-a']) },
  ...{ guard: fc.constant({}), shadow: fc.constant({ sample: '10%' }), expose: fc.constant('X-Upstream-Side') },
  steps: fc.constant({ shares: ['1%', '100%'], every: '15m' }),
}
const candidate = fc.oneof(url, some(['endpoints'], { ...target, ...policies, ...own }))

const file = fc
  .record({
    defaults: some([], policies),
    risk: some(['endpoints', 'candidate'], {
      ...{ ...target, ...policies, candidate, deadline: time },
      ...{ retry: policy([], { attempts: fc.constant(2) }), concurrency: fc.constant('none') },
    }),
    market: fc.oneof(url, some(['endpoints'], { ...target, ...policies })),
  })
  .map(({ defaults, risk, market }) => ({
    defaults,
    upstreams: { ...Object.fromEntries(groups.map((group) => [group, 'sandbox'])), risk, market },
  }))

const spellings: readonly ((value: unknown) => string)[] = [
  (value) => stringify(value, { aliasDuplicateObjects: false }),
  (value) => stringify(value, { aliasDuplicateObjects: false, indent: 4, indentSeq: false }).replaceAll('\n', '\r\n'),
  (value) => stringify(value, { aliasDuplicateObjects: false }).replaceAll(/^( +)(\w+):/gm, '\n$1# about $2\n$1$2:'),
  (value) => stringify(value, { aliasDuplicateObjects: false, collectionStyle: 'flow' }),
  (value) => JSON.stringify(value),
  (value) => JSON.stringify(value, null, 2),
]

const withoutHash = ({ hash: _, ...config }: Config) => config

test('the upstream is what the candidate was, and everything else is as it was', () => {
  let count = 0
  const property = fc.property(file, fc.constantFrom(...spellings), (value, spell) => {
    const text = spell(value)
    const before = parse(text)
    fc.pre(before.ok)
    if (!before.ok) return
    count++

    const promotion = planPromotion(text, 'gateway.yaml', 'risk', before, {})

    if (!promotion.ok) throw new Error(JSON.stringify(promotion.problems))
    const after = validConfig(promotion.text)
    expect(after.upstreams.risk).toEqual(promotedUpstream(before.config, 'risk'))
    expect(withoutHash({ ...after, upstreams: before.config.upstreams })).toEqual(withoutHash(before.config))
    expect({ ...after.upstreams, risk: null }).toEqual({ ...before.config.upstreams, risk: null })
    for (const line of linesAround(text)) expect(promotion.text).toContain(line)
  })

  fc.assert(property, { numRuns: 8 })

  expect(count).toBeGreaterThan(3)
}, 120_000)

/** Returns what stands before and after the group, where it stands on lines of its own. */
const linesAround = (text: string): readonly string[] => {
  const [, before = '', after = ''] =
    /^([\s\S]*\n {2,4}risk:\r?\n)[\s\S]*?(\n {2,4}inventory:[\s\S]*)$/.exec(text) ?? []
  return [before, after.trimEnd()]
}

describe('an anchor', () => {
  /** Renders a file in which market comes after risk. */
  const withMarket = (risk: string, market: string): string =>
    withRisk(risk).replace(/^ {2}market: sandbox\n([\s\S]*)$/m, `$1  market: ${market}\n`)
  const group = '\n    endpoints: [http://a.internal]\n    candidate: sandbox\n'
  const aliased = withRisk('\n    endpoints: [http://a.internal]\n    candidate: *next\n')
  const next = '&next { endpoints: [http://n.internal], tls: { serverName: n.internal } }'
  const timeouts = '    timeouts: &t { headers: 3s }\n'

  const shared = withRisk(
    `\n    endpoints: [http://a.internal]\n${timeouts}    candidate: { endpoints: [sandbox], timeouts: *t }\ndefaults: { timeouts: *t }\n`,
  )
  const kept = { ok: true, text: expect.stringContaining(`${timeouts}defaults`) }
  const below = '[http://n.internal]\n    tls: { serverName: n.internal }\n'
  const writtenOut = { ok: true, text: expect.stringContaining(below) }

  test.each<[string, string, object]>([
    ['that the candidate takes from its group stays where it is', shared, kept],
    [
      'that would go, though another group has it, is a problem',
      withMarket(group.replace('[', '&e ['), '{ endpoints: *e }'),
      { ok: false, problems: [{ line: 10 }] },
    ],
    ['that makes another group change is no edit', withMarket(` &r${group}`, '*r'), { ok: false, problems: [] }],
    ['of the candidate is written out', aliased.replace('market: sandbox', `market: ${next}`), writtenOut],
  ])('%s', (_, text, promotion) => {
    expect(promote(text)).toMatchObject(promotion)
  })
})
