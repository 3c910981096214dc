import { expect, test } from 'vitest'
import { healthyStatus, runStatus } from '../status-fixtures.ts'

const found = {
  ...{ severity: 'critical', about: 'upstreams.risk' },
  cause: 'http://risk-a:8080 refuses connections (ECONNREFUSED): 12 requests failed in the last minute',
  ...{ details: [] as readonly string[], alsoAbout: [] as readonly string[], since: '2026-11-21T02:04:00.000Z' },
  command: 'lender-gateway check --online',
}
const notice = { ...found, severity: 'notice', about: 'clients', cause: 'the token has expired', since: null }

test('below the target the findings stand first, each with its time and a command that shows more', async () => {
  const { code, out } = await runStatus({ ...healthyStatus, findings: [found, { ...notice, command: null }] })

  expect(code).toBe(0)
  expect(out).toMatch(
    /^asked .*\n\nCRITICAL {2}upstreams\.risk: http:\/\/risk-a:8080 refuses connections \(ECONNREFUSED\): 12 requests failed in the last minute\n {10}since 2026-11-21T02:04:00Z, .* ago; more: lender-gateway check --online\nnotice {4}clients: the token has expired\n\ngateway {2}serving, ready\n/,
  )
})

test.each([
  [
    'its details below it',
    { details: ['it\u001b[2J fails', 'so it is'] },
    '--online\n          - it\\x1b[2J fails\n          - so it is\n\n',
  ],
  ['a command that changes something as what to do', { command: 'rollback --yes' }, 'ago; to do: rollback --yes\n'],
  ['nothing that controls the terminal', { cause: 'a\u001b[2Jb' }, 'upstreams.risk: a\\x1b[2Jb\n'],
])('a finding has %s', async (_, more, text) => {
  expect((await runStatus({ ...healthyStatus, findings: [{ ...found, ...more }] })).out).toContain(text)
})

test('the lack of findings is printed in words', async () => {
  expect((await runStatus({ ...healthyStatus, findings: [] })).out).toMatch(
    /^asked .*\n\nnothing is wrong\n\ngateway {2}serving, ready\n/,
  )
})
