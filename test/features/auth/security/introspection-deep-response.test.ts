import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

// The attack: an attacker who can put a member into the introspection response of a token (RFC 7662 §2.2 allows any
// member) nests it as deep as it goes.
test('a response on a token that is nested too deep to be written again is read like another', async () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const server = await httpUpstream((_, response) => response.end(`{"active":true,"client_id":"bank-a","a":${deep}}`))
  const upstream = await httpUpstream()
  const { url } = await bootGateway({
    upstream: upstream.url,
    auth: {
      methods: ['introspection'],
      introspection: { url: `${server.url}/introspect`, clientId: 'gateway', clientSecret: 'secret' },
    },
    clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: 'all' }],
  })

  const ask = async (): Promise<number> =>
    (await fetch(`${url}/market/insights`, { headers: { authorization: 'Bearer opaque' } })).status

  expect([await ask(), await ask()]).toEqual([200, 200])
  expect(server.requests).toHaveLength(1)
})
