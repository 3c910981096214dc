import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, signToken } from '../../../helpers/tokens.ts'

// RFC 7515 §4.1.11: a recipient that does not understand a critical header parameter must reject the token.
test('what a token calls critical is not understood here', async () => {
  const { expectRejected: refuses, key } = await bootJwtGateway()

  await refuses(signToken(key, claims(), { crit: ['policy'], policy: 'ask' }), 'its header has crit')
  await refuses(signToken(key, claims(), { crit: [] }), 'its header has crit')
  await refuses(signToken(key, claims(), { crit: ['b64'], b64: true }), 'its header has crit')
})
