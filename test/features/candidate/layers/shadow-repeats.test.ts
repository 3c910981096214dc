import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange, Handler, Layer } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import {
  createMarkerRemover,
  createShadowFields,
  type ShadowOptions,
} from '../../../../src/features/candidate/layers/shadow.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

import { failing, noting, responding, serve, settled, shadowing } from './shadowing.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('the fields of a copy', () => {
  const marked = ['X-Shadow', '1']
  const credentials = [
    'Authorization authorization AUTHORIZATION Proxy-Authorization Cookie DPoP X-Api-Key X_Api_Key x-api_key',
    'X-Auth-Token X-Amz-Security-Token Client-Cert Client-Cert-Chain client_cert X-Forwarded-Client-Cert',
    'X-SSL-Client-Cert X-Amzn-Mtls-Clientcert-Leaf X-Forwarded-Tls-Client-Cert-Info X-Forwarded-Access-Token',
    'X-Amzn-Oidc-Data X_Amzn_Oidc_Identity X-Goog-Iap-Jwt-Assertion X-MS-Client-Principal X-Session-Id',
    'X-Partner-Token X-Signature X-Userinfo X-Partner X-Client-Id',
  ].flatMap((names) => names.split(' '))
  const options = {
    ...{ marker: 'X-Shadow', credentials: 'remove' as const },
    ...{ credentialFields: ['X-Partner', 'x-client-id'], keptFields: ['x-transaction-key'] },
  }
  const forwarding = createShadowFields({ ...options, credentials: 'forward' })

  test('a copy has no credential fields, unless credentials are forwarded', () => {
    const fields = ['Accept', 'a', ...credentials.flatMap((name) => [name, 'secret']), 'Via', '1.1 x']

    expect(createShadowFields(options)(fields)).toEqual(['Accept', 'a', 'Via', '1.1 x', ...marked])
    expect(forwarding(fields)).toEqual([...fields, ...marked])
  })

  test('a copy has all other fields in their order, with the request id', () => {
    const names = ['accept', 'Accept', 'X-Request-Id', 'Idempotency-Key', 'X_Idempotency_Key', 'x_transaction_key']
    const fields = [...names, 'X-Transaction-Key'].flatMap((name, at) => [name, `${at}`])

    expect(createShadowFields(options)(fields)).toEqual([...fields, ...marked])
  })

  test.each(['X-Shadow', 'x-shadow', 'X_Shadow'])('have no %s of the client, nor has its request', (name) => {
    const fields = ['A', '1', name, '0', 'B', '2', name, '1']

    expect(forwarding(fields)).toEqual(['A', '1', 'B', '2', ...marked])
    expect(createMarkerRemover('X-Shadow')(fields)).toEqual(['A', '1', 'B', '2'])
  })

  test('fields without the marker stay the same list', () => {
    const fields = ['A', 'X-Shadow', 'X-Shadows', '1']

    expect(createMarkerRemover('X-Shadow')(fields)).toBe(fields)
  })
})

describe('requests that the primary gets twice, in place of a copy, so that its noise is learned', () => {
  // So long after the first the second one goes out.
  const waitMs = 1100

  /** Creates the layer, and notes what the primary gets again; `again` sends to it once more. */
  const repeating = (again: Handler = responding('again'), { isTaken = true, concurrency = 10 } = {}) => {
    const [repeated, counted, learned]: readonly [Exchange[], string[], string[]] = [[], [], []]
    const repeats: ShadowOptions['repeats'] = {
      wants: () => isTaken,
      onSend: (operation) => void counted.push(operation),
      afterMs: waitMs,
      send: noting(repeated, again),
      isUp: () => true,
      onPair: ({ body }, second) => void learned.push(`${body.bytes}, ${second.failure ?? second.body.bytes}`),
    }
    return { ...shadowing({ concurrency, repeats }), repeated, counted, learned }
  }
  const never: Handler = () => new Promise(() => {})
  const reject: Handler = () => Promise.reject(new GatewayError('connect-failed'))
  const fields = ['Authorization', 'Bearer a', 'X-A', '1', 'x_shadow', '0']

  const pass = async (ms = waitMs): Promise<void> => {
    vi.advanceTimersByTime(ms)
    await settled()
  }

  const exchangeOne = async (layer: Layer, query = ''): Promise<void> => {
    await serve(layer, responding('once'), fakeExchange({ fields, query }))
    await pass()
  }

  test('a repeat goes to the primary with all fields and the marker, and is counted apart', async () => {
    const { layer, copies, copied, repeated, counted, learned } = repeating()

    await exchangeOne(layer, '?access_token=a')

    expect(copied).toEqual([])
    const sent = ['Authorization', 'Bearer a', 'X-A', '1', 'X-Shadow', '1']
    expect(repeated).toMatchObject([{ fields: sent, query: '?access_token=a' }])
    expect([learned, counted]).toEqual([['once, again'], ['market.insights']])
    expect(copies.report()).toMatchObject({ sent: 0, pairs: 0, repeated: 1, underWay: 0, outcomes: { '2xx': 0 } })
  })

  test('a repeat is sent after 1.1 s, so that times in whole seconds differ', async () => {
    const { layer, repeated, held } = repeating()
    await serve(layer, responding('once'))
    await pass(waitMs - 1)
    const before = [repeated.length, held()[0]]
    await pass(1)

    expect([...before, repeated.length, held()[0]]).toEqual([0, 1, 1, 0])
  })

  test('a repeat is dropped if the primary never got the first request', async () => {
    const { layer, counted } = repeating()
    await layer(reject)(fakeExchange({ fields })).catch(() => {})
    await pass()

    expect(counted).toEqual([])
  })

  test('at most four repeats wait or are in flight', async () => {
    const { layer, copies, repeated } = repeating(never)
    await Promise.all(Array.from({ length: 9 }, () => serve(layer, responding('once'), fakeExchange({ fields }))))
    await pass()

    expect([repeated.length, copies.repeating()]).toEqual([4, 4])
  })

  test('repeats share the bounds of copies, and end with the process', async () => {
    const { layer, copies, repeated } = repeating(never, { concurrency: 1 })

    await exchangeOne(layer)
    await exchangeOne(layer)
    const { repeated: counted, underWay, dropped } = copies.report()
    copies.stop()

    expect([repeated.length, counted, underWay, dropped.full]).toEqual([1, 1, 1, 0])
    expect([repeated[0]?.aborted?.kind, copies.report().underWay]).toEqual(['overloaded', 0])
  })

  test('failed repeats teach nothing, and count as no failure of the candidate', async () => {
    const { layer, copies, learned } = repeating(failing('reset-before-headers'))
    for (let n = 0; n < 6; n++) await exchangeOne(layer)

    expect(learned).toEqual(Array(6).fill('once, reset-before-headers'))
    expect([copies.backoff.take(), copies.backoff.take()]).toEqual([true, true])
  })

  test('a request that is not repeated is copied', async () => {
    const { layer, repeated, learned, pairs } = repeating(undefined, { isTaken: false })
    await exchangeOne(layer)

    expect([repeated, learned]).toEqual([[], []])
    expect(pairs).toHaveLength(1)
  })
})
