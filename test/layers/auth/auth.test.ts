import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../src/failures/errors.ts'
import { auth } from '../../../src/layers/auth/auth.ts'
import type { Method } from '../../../src/layers/auth/method.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

const method = (prove: Method['prove'], applies = true): Method => ({
  name: 'jwt',
  fields: ['authorization'],
  challenge: 'Bearer',
  applies: () => applies,
  prove,
})

const asking = (...methods: readonly Method[]) =>
  auth({ methods, forwards: false, identityField: null, required: { scopes: [], claims: {} }, algorithms: null })(
    fakeNext(),
  )

describe('by what it is being proved who calls', () => {
  test('stands in the exchange, also when that proves nothing', async () => {
    const exchange = fakeExchange()
    const refuse = (): never => {
      throw new GatewayError('unauthenticated', { reason: 'expired' })
    }

    await expect(asking(method(refuse))(exchange)).rejects.toMatchObject({ reason: 'expired' })

    expect([exchange.proving, exchange.identity]).toEqual(['jwt', null])
  })

  test('is nothing where nothing is shown', async () => {
    const exchange = fakeExchange()

    const asked = asking(method(() => ({ client: null, token: null }), false))(exchange)

    await expect(asked).rejects.toMatchObject({ kind: 'unauthenticated', reason: 'no-credential' })
    expect(exchange.proving).toBeNull()
  })

  test('a good credential of nobody is refused as such', async () => {
    const exchange = fakeExchange()

    const asked = asking(method(() => ({ client: null, token: null })))(exchange)

    await expect(asked).rejects.toMatchObject({ kind: 'forbidden', reason: 'unknown-client' })
    expect(exchange.proving).toBe('jwt')
  })
})
