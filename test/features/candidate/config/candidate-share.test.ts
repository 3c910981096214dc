/** Who is on a candidate, as the file says it. */
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { CandidateConfig } from '../../../../src/features/candidate/config/candidate.ts'
import { findProblems, parse, validConfig, withRisk } from '../../../core/config/helper.ts'

const client = (id: string) => JSON.stringify({ id, operations: 'all', apiKeys: [{ id, sha256: hash('sha256', id) }] })
const clients = `clients: [${client('bank-a')}, ${client('bank-b')}]`
const auth = 'auth: { methods: [apiKey] }'

const text = (own: string, more = '', top = ''): string =>
  `${top}\n${withRisk(` { endpoints: [https://a]${more}, candidate: { endpoints: [https://b], healthCheck: { path: /up }, ${own} } }`)}`

const candidateOf = (own: string, top = ''): CandidateConfig => {
  const { candidate } = validConfig(text(own, '', top)).upstreams.risk
  if (candidate === null) throw new Error('there is no candidate')
  return candidate
}

const warningsOf = (own: string, top: string) => {
  const result = parse(text(own, '', top))
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings.filter(({ path }) => path.includes('candidate'))
}

test('nothing is on it unless the file says so, the primary helps it, and no field names it', () => {
  expect(candidateOf('')).toMatchObject({ share: 0, clients: [], fallback: true, expose: null })
})

test('share, clients, fallback and the field are what the file says', () => {
  const own = 'share: 0.25%, clients: [bank-a], fallback: false, expose: X-Upstream-Side'

  expect(candidateOf(own, `${auth}\n${clients}`)).toMatchObject({
    share: 0.0025,
    clients: ['bank-a'],
    fallback: false,
    expose: 'X-Upstream-Side',
  })
})

describe('what is wrong', () => {
  test.each<[string, string, string]>([
    ['share: 5', 'upstreams.risk.candidate.share', 'a unit is missing'],
    ['share: 101%', 'upstreams.risk.candidate.share', 'too large'],
    ['share: none', 'upstreams.risk.candidate.share', 'not a percentage'],
    ['clients: bank-a', 'upstreams.risk.candidate.clients', 'the wrong kind of value'],
    ['clients: ["a b"]', 'upstreams.risk.candidate.clients[0]', 'not a name'],
    ['fallback: 1', 'upstreams.risk.candidate.fallback', 'the wrong kind of value'],
    ['expose: "X Side"', 'upstreams.risk.candidate.expose', 'not a field name'],
    ['expose: Connection', 'upstreams.risk.candidate.expose', 'is set by the gateway'],
    ['expose: Set-Cookie', 'upstreams.risk.candidate.expose', 'has a meaning of its own'],
    ['expose: content-TYPE', 'upstreams.risk.candidate.expose', 'has a meaning of its own'],
  ])('%s', (own, path, message) => {
    expect(findProblems(text(own))).toContainEqual(
      expect.objectContaining({ path, message: expect.stringContaining(message) }),
    )
  })

  test.each([
    ['the request id', 'expose: x-request-id', ''],
    ['a field that the group sets', 'expose: X-Side', ', response: { set: { x-side: a } }'],
    ['a field that the candidate sets', 'expose: X-Side, response: { set: { x-side: a } }', ''],
  ])('a field that is %s already', (_, own, more) => {
    expect(findProblems(text(own, more))).toMatchObject([
      { path: 'upstreams.risk.candidate.expose', message: 'this field says something else already' },
    ])
  })
})

test('a field that is called none is no side, and may be set', () => {
  expect(findProblems(text('expose: none', ', response: { set: { none: a } }'))).toEqual([])
})

describe('what is probably not meant', () => {
  test('a client that the file does not know: its removal is no error, and the name that was meant is found', () => {
    expect(warningsOf('clients: [bank-a, bank-x]', `${auth}\n${clients}`)).toMatchObject([
      { path: 'upstreams.risk.candidate.clients[1]', found: 'bank-x', hint: expect.stringMatching(/^write bank-[ab]/) },
    ])
  })

  test('thousands of such clients do not cost a guess each: only the first are guessed', () => {
    const names = Array.from({ length: 30 }, (_, nth) => `bank-${nth}`)

    const hints = warningsOf(`clients: [${names}]`, `${auth}\n${clients}`).map(({ hint }) => hint)

    expect(hints).toHaveLength(30)
    expect(hints.filter((hint) => hint?.startsWith('write bank-'))).toHaveLength(20)
    expect(hints.at(-1)).toBe('remove it, or add the client')
  })

  test('clients by name where no operation of the group asks who they are', () => {
    const open = 'operations: { risk.asset-valuation: { auth: none } }'

    expect(warningsOf('clients: [bank-a]', `${auth}\n${clients}\n${open}`)).toMatchObject([
      { path: 'upstreams.risk.candidate.clients', message: expect.stringContaining('asks clients who they are') },
    ])
    expect(warningsOf('clients: [bank-a]', `${auth}\n${clients}`)).toEqual([])
  })

  test('a key that lets requests be forwarded again, and does not reach the candidate', () => {
    const forward = 'operations: { risk.asset-valuation: { idempotency: { onUnknown: forward } } }'
    const result = parse(text('request: { remove: [idempotency_key] }', '', forward))

    expect(result.ok && result.warnings).toMatchObject([
      {
        path: 'operations.risk.asset-valuation.idempotency',
        found: 'idempotency-key in upstreams.risk.candidate.request.remove',
      },
    ])
  })
})
