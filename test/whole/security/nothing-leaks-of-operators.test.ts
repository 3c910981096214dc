import { expect, onTestFinished, test } from 'vitest'
import { operatorScopes } from '../../../src/core/lib/operators.ts'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { createAuditLog } from '../../features/audit/audit-log-place.ts'
import { adminTokens, bearerOf, tokenOf } from '../../helpers/admin-tokens.ts'
import { logIn, visitPage } from '../../helpers/form-browser.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'
import { adminJwt, operatorJwt } from '../../helpers/operator-jwts.ts'
import { secretEncodings } from '../../helpers/secret-leaks.ts'

// The attack: a token of an operator, or the hash that tells whether a guess is right, comes out where others read: the
// log, the audit log, what the listener shows, what a command prints.
test('neither a token of an operator nor its hash comes out anywhere', async () => {
  const audit = createAuditLog(onTestFinished)
  const live = await bootLiveGateway({
    admin: { tokens: adminTokens, jwt: adminJwt() },
    audit: audit.settings,
    log: { level: 'trace' },
  })
  const jwt = operatorJwt()
  const session = await logIn(live.admin, tokenOf.operate)
  await logIn(live.admin, jwt)
  const responses: string[] = []
  const api = ['/status', '/overview', '/config', '/whoami', '/metrics', '/openapi.json']
  for (const path of ['/', '/configuration', '/actions/reload', ...api])
    responses.push((await visitPage(live.admin + path, session)).text)
  for (const scope of operatorScopes) responses.push((await visitPage(`${live.admin}/reload?x`, bearerOf(scope))).text)
  for (const shown of [jwt, `${jwt.slice(0, -4)}AAAA`, operatorJwt({ groups: ['x'] })])
    responses.push((await visitPage(`${live.admin}/status`, { authorization: `Bearer ${shown}` })).text)
  live.edit({ admin: { tokens: adminTokens.map((each) => ({ ...each, scope: 'everything' })) } })
  await live.gateway.reload('signal')
  responses.push((await visitPage(`${live.admin}/`, session)).text)
  const environment = { LENDER_GATEWAY_ADMIN_TOKEN: tokenOf.operate }
  for (const args of [['check'], ['explain', 'GET', '/market/insights'], ['diff', '--config']])
    responses.push(JSON.stringify(await runCommand([...args, live.file], environment)))
  await live.gateway.close()

  const written = [JSON.stringify(live.lines), audit.text(), ...responses].join('\n')
  expect(written).toContain('oncall-anna')
  const [, payload = '', signature = ''] = jwt.split('.')
  for (const secret of [...Object.values(tokenOf), ...adminTokens.map(({ hash }) => hash), payload, signature])
    expect(secretEncodings(secret).filter((spelling) => written.includes(spelling))).toEqual([])
})
