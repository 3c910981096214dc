import { expect, test } from 'vitest'
import type { ContractReport, DriftRowView } from '../../../src/features/contract/status.ts'
import { jsonResponse, runCommand, scriptedAdmin, token } from '../../core/cli/scripted-admin.ts'

const unchecked = { 'too-large': 0, coded: 0, 'not-json': 0, partial: 0, 'too-complex': 0, busy: 0 }
const off = { mode: 'off', checked: 0, broken: 0, rejected: 0, unchecked } as const

const row: DriftRowView = {
  operation: 'valuation.score',
  direction: 'response',
  pointer: '/grade',
  in: 'body',
  rule: 'enum',
  detail: 'must be equal to one of the allowed values',
  count: 36,
  recent: 9,
  firstAt: '2026-11-21T01:05:00.000Z',
  lastAt: '2026-11-21T02:04:58.000Z',
  client: 'bank-a',
  endpoint: 'http://risk-a:8080',
  requestId: '0192f3a4',
}

const report: ContractReport = {
  at: '2026-11-21T02:05:00.000Z',
  differingFiles: [],
  contract: {
    file: '/etc/lender-gateway/contract.yaml',
    digest: 'a41f0c77b2d9',
    countedSince: '2026-11-21T00:05:00.000Z',
    operations: {
      'valuation.score': {
        line: 12,
        request: { ...off, mode: 'enforce', checked: 1300, unchecked: { ...unchecked, coded: 4, busy: 1 } },
        response: { ...off, mode: 'report', checked: 1200, broken: 36 },
      },
      'leads.pipeline': { line: null, request: { ...off, mode: 'report' }, response: off },
    },
  },
  recent: [],
  rows: [row],
  others: 0,
}

const run = async (body: unknown, ...args: readonly string[]) => {
  const admin = await scriptedAdmin(jsonResponse(body))
  const { code, out, err } = await runCommand(['contract', 'report', '--admin', admin.url, ...args], {
    LENDER_GATEWAY_ADMIN_TOKEN: token,
  })
  return { code, err, out: out.replaceAll(admin.url, 'http://gateway'), received: admin.received }
}

test('it prints how many messages break the contract, where, and the last of them', async () => {
  const { code, out, received } = await run(report)

  expect(code).toBe(0)
  expect(received.map(({ request }) => request)).toEqual(['GET /contract'])
  expect(out).toBe(`asked http://gateway, which holds messages to /etc/lender-gateway/contract.yaml (a41f0c77b2d9)

contract         messages   mode     checked  broken    rejected  unchecked
valuation.score  requests   enforce  1300     0         0         4 coded, 1 busy
valuation.score  responses  report   1200     36 (3 %)  0         0
counted since 2026-11-21T00:05:00Z, 2h ago

NOT CHECKED, since the contract does not name them: leads.pipeline

valuation.score responses: 3 % break it at body /grade: enum: must be equal to one of the allowed values
  36 of 1200, 9 in the last 5 minutes, since 2026-11-21T01:05:00Z, 1h ago
  last 2026-11-21T02:04:58Z, 2s ago: of bank-a from http://risk-a:8080, request 0192f3a4
`)
})

test('it says that nothing breaks it, or that nothing was checked yet', async () => {
  const idle = { line: 1, request: { ...off, mode: 'report' as const }, response: off }
  const contract = { file: 'contract.yaml', digest: 'a41f0c77b2d9', operations: { 'leads.pipeline': idle } }

  expect((await run({ ...report, rows: [] })).out).toMatch(/\n\nnothing breaks it\n$/)
  expect((await run({ ...report, contract, rows: [] })).out).toMatch(/\n\nnothing was checked yet\n$/)
})

test('it says that a contract that was edited does not run', async () => {
  const { out } = await run({ ...report, differingFiles: ['/etc/lender-gateway/contract.yaml'] })

  expect(out).toMatch(
    /^asked http:\/\/gateway, which .*\(a41f0c77b2d9\)\nan edit of \/etc\/lender-gateway\/contract.yaml DOES NOT RUN: status says why\n\n/,
  )
})

test('it says that no contract is configured', async () => {
  const { code, out } = await run({ ...report, contract: null, rows: [] })

  expect([code, out]).toEqual([0, 'asked http://gateway\n\nno contract is configured\n'])
})

test('a request of a client without an id, and a place without a pointer, are one line each', async () => {
  const one = { ...row, direction: 'request', in: 'content-type', pointer: '', rule: 'content-type', endpoint: null }

  const { out } = await run({ ...report, rows: [{ ...one, requestId: null, client: '203.0.113.7' }], others: 7 })

  expect(out).toContain('valuation.score requests: 2.8 % break it at content-type: content-type: must be')
  expect(out).toMatch(/, 2s ago: of 203\.0\.113\.7\n\nand 7 times in further ways: the table is full\n$/)
})

test('as JSON it prints what the gateway sends', async () => {
  expect(JSON.parse((await run(report, '--format', 'json')).out)).toEqual(report)
})

test('a gateway whose text is hostile cannot control the terminal', async () => {
  expect((await run({ ...report, rows: [{ ...row, requestId: 'a\u001b[2Jb' }] })).out).toContain('a\\x1b[2Jb')
})
