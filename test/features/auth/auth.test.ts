import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { Authenticator } from '../../../src/features/auth/auth.ts'
import { authLayer } from '../../../src/features/auth/auth.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

const authenticator = (authenticate: Authenticator['authenticate'], applies = true): Authenticator => ({
  name: 'jwt',
  fields: ['authorization'],
  challenge: 'Bearer',
  applies: () => applies,
  authenticate,
})

const createHandler = (...authenticators: readonly Authenticator[]) =>
  authLayer({
    authenticators,
    forwardsCredentials: false,
    identityField: null,
    required: { scopes: [], claims: {} },
    algorithms: null,
  })(fakeNext())

describe('the attempted authentication method', () => {
  test('is recorded in the exchange, also when the credential proves nothing', async () => {
    const exchange = fakeExchange()
    const reject = (): never => {
      throw new GatewayError('unauthenticated', { reason: 'expired' })
    }

    await expect(createHandler(authenticator(reject))(exchange)).rejects.toMatchObject({ reason: 'expired' })

    expect([exchange.attemptedAuth, exchange.identity]).toEqual(['jwt', null])
  })

  test('is null without a credential', async () => {
    const exchange = fakeExchange()

    const ended = createHandler(authenticator(() => ({ client: null, token: null }), false))(exchange)

    await expect(ended).rejects.toMatchObject({ kind: 'unauthenticated', reason: 'no-credential' })
    expect(exchange.attemptedAuth).toBeNull()
  })

  test('a good credential of no client is rejected as such', async () => {
    const exchange = fakeExchange()

    const ended = createHandler(authenticator(() => ({ client: null, token: null })))(exchange)

    await expect(ended).rejects.toMatchObject({ kind: 'forbidden', reason: 'unknown-client' })
    expect(exchange.attemptedAuth).toBe('jwt')
  })
})
