import { expect, test } from 'vitest'
import type { ContractReport, DriftRowView } from '../../../src/features/contract/status.ts'
import { jsonResponse, runCommand, scriptedAdmin, token } from '../../core/cli/scripted-admin.ts'

const unchecked = { 'too-large': 0, coded: 0, 'not-json': 0, partial: 0, 'too-complex': 0, busy: 0 }
const off = { mode: 'off', checked: 0, broken: 0, rejected: 0, unchecked } as const

const row: DriftRowView = {
  ...{ operation: 'valuation.score', direction: 'response', pointer: '/grade', in: 'body', rule: 'enum' },
  ...{ detail: 'must be equal to one of the allowed values', count: 36, recent: 9 },
  ...{ firstAt: '2026-11-21T01:05:00.000Z', lastAt: '2026-11-21T02:04:58.000Z' },
  ...{ client: 'bank-a', endpoint: 'http://risk-a:8080', requestId: '0192f3a4' },
}

const report: ContractReport = {
  ...{ at: '2026-11-21T02:05:00.000Z', differingFiles: [], recent: [], rows: [row], others: 0 },
  contract: {
    ...{ file: '/etc/lender-gateway/contract.yaml', digest: 'a41f0c77b2d9', countedSince: '2026-11-21T00:05:00.000Z' },
    operations: {
      'valuation.score': {
        line: 12,
        request: { ...off, mode: 'enforce', checked: 1300, unchecked: { ...unchecked, coded: 4, busy: 1 } },
        response: { ...off, mode: 'report', checked: 1200, broken: 36 },
      },
      'leads.pipeline': { line: null, request: { ...off, mode: 'report' }, response: off },
    },
  },
}

const run = async (more: object = {}, ...args: readonly string[]) => {
  const admin = await scriptedAdmin(jsonResponse({ ...report, ...more }))
  const environment = { LENDER_GATEWAY_ADMIN_TOKEN: token }
  const { code, out } = await runCommand(['contract', 'report', '--admin', admin.url, ...args], environment)
  return { code, out: out.replaceAll(admin.url, 'http://gateway'), received: admin.received }
}

test('it prints how many messages break the contract, where, and the last of them', async () => {
  const { code, out, received } = await run()

  expect([code, received.map(({ request }) => request)]).toEqual([0, ['GET /contract']])
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

const idle = { line: 1, request: { ...off, mode: 'report' }, response: off }
const idleContract = { file: 'contract.yaml', digest: 'a41f0c77b2d9', operations: { 'leads.pipeline': idle } }
const ofRequests = {
  ...row,
  ...{ direction: 'request', in: 'content-type', pointer: '', rule: 'content-type' },
  ...{ endpoint: null, requestId: null, client: '203.0.113.7' },
}
const edited = ['/etc/lender-gateway/contract.yaml']

test.each<[string, object, RegExp]>([
  ['nothing breaks it', { rows: [] }, /\n\nnothing breaks it\n$/],
  ['nothing was checked yet', { contract: idleContract, rows: [] }, /\n\nnothing was checked yet\n$/],
  [
    'an edit of the contract does not run',
    { differingFiles: edited },
    /^asked .*\(a41f0c77b2d9\)\nan edit of \/etc\/lender-gateway\/contract.yaml DOES NOT RUN: status says why\n\n/,
  ],
  ['there is none', { contract: null, rows: [] }, /^asked http:\/\/gateway\n\nno contract is configured\n$/],
  [
    'requests without an id break it at a place without a pointer, and in further ways',
    { rows: [ofRequests], others: 7 },
    /requests: 2\.8 % break it at content-type: content-type: must be [^$]*, 2s ago: of 203\.0\.113\.7\n\nand 7 more violations, not listed: the table is full\n$/,
  ],
  ['the text of a gateway is hostile', { rows: [{ ...row, requestId: 'a\u001b[2Jb' }] }, /a\\x1b\[2Jb/],
])('it says that %s', async (_, more, expected) => {
  expect(await run(more)).toMatchObject({ code: 0, out: expect.stringMatching(expected) })
})

test('as JSON it prints what the gateway sends', async () => {
  expect(JSON.parse((await run({}, '--format', 'json')).out)).toEqual(report)
})
