import { expect, test } from 'vitest'
import { healthyStatus, runStatus } from '../status-fixtures.ts'

const found = {
  severity: 'critical',
  about: 'upstreams.risk',
  cause: 'http://risk-a:8080 refuses connections (ECONNREFUSED): 12 requests failed in the last minute',
  details: [] as readonly string[],
  alsoAbout: [] as readonly string[],
  since: '2026-11-21T02:04:00.000Z',
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

test('the details of a finding stand below it', async () => {
  const details = ['http://risk-a:8080 is failing', 'the circuit breaker of risk is\u001b[2J open']
  const { out } = await runStatus({ ...healthyStatus, findings: [{ ...found, details }] })

  expect(out).toMatch(
    /check --online\n {10}- http:\/\/risk-a:8080 is failing\n {10}- the circuit breaker of risk is\\x1b\[2J open\n\ngateway/,
  )
})

test('a command that changes something is printed as what to do', async () => {
  const command = 'lender-gateway rollback --yes'

  const { out } = await runStatus({ ...healthyStatus, findings: [{ ...found, command }] })

  expect(out).toContain(`ago; to do: ${command}\n`)
})

test('the lack of findings is printed in words', async () => {
  expect((await runStatus({ ...healthyStatus, findings: [] })).out).toMatch(
    /^asked .*\n\nnothing is wrong\n\ngateway {2}serving, ready\n/,
  )
})

test('a finding cannot control the terminal', async () => {
  const { out } = await runStatus({ ...healthyStatus, findings: [{ ...notice, cause: 'a\u001b[2Jb' }] })

  expect(out).toContain('clients: a\\x1b[2Jb\n')
})
