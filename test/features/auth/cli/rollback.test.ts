import { expect, test } from 'vitest'
import { jsonResponse, runCommand, scriptedAdmin, token } from '../../../core/cli/scripted-admin.ts'

test('says that clients and keys are those of then where authentication comes back', async () => {
  const changes = [{ part: 'auth', group: null, path: 'auth', from: 'none', to: {} }]
  const body = { result: 'applied', from: '9b02c7d11e55', to: '3f1c0a9be2d4', groups: [], changes, warnings: [] }
  const admin = await scriptedAdmin(jsonResponse(body))

  const { out } = await runCommand(['rollback', '--admin', admin.url], { LENDER_GATEWAY_ADMIN_TOKEN: token })

  expect(out).toContain(
    '9b02c7d11e55 → 3f1c0a9be2d4, with admin and listen.tls as they are now, auth and clients as they were; ',
  )
})

test('the help says so', async () => {
  const { out } = await runCommand(['rollback', '--help'])

  expect(out).toContain('Where auth was taken out, only admin and listen.tls stay;')
})
