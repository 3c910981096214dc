import { expect, test } from 'vitest'
import { VerifierUnavailable } from '../../../src/features/auth/errors.ts'
import type { HttpClient, HttpRequest } from '../../../src/features/auth/tokens/http-client.ts'
import { introspect } from '../../../src/features/auth/tokens/introspection.ts'

/** Creates a server that responds so, and records its requests. */
const respondingWith = (status: number, text: string) => {
  const requests: HttpRequest[] = []
  const server: HttpClient = {
    request: async (request) => {
      requests.push(request)
      return { status, text }
    },
    close: () => {},
  }
  return { server, requests, send: (token = 'to/ke+n=') => introspect(server, credentials, token) }
}

const credentials = { clientId: 'gate:way', clientSecret: 'p%ss wörd' }

test('it sends a form, with its credentials', async () => {
  const { send, requests } = respondingWith(200, '{"active":true,"scope":"read"}')

  expect(await send()).toEqual({ claims: { active: true, scope: 'read' }, size: 30 })

  expect(requests).toEqual([
    {
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Basic ${Buffer.from('gate%3Away:p%25ss+w%C3%B6rd').toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'token=to%2Fke%2Bn%3D&token_type_hint=access_token',
    },
  ])
})

test('a token that is not active has no claims', async () => {
  expect(await respondingWith(200, '{"active":false,"scope":"read"}').send()).toBeNull()
})

test.each([
  [200, '{"active":"true"}'],
  [200, '{"active":1}'],
  [200, '{}'],
  [200, '[{"active":true}]'],
  [200, 'null'],
  [200, 'to/ke+n='],
  [201, '{"active":true}'],
  [302, '{"active":true}'],
  [401, '{"active":true}'],
  [500, ''],
])('a response %i %s lets no client in, and is not quoted', async (status, text) => {
  const error: unknown = await respondingWith(status, text)
    .send()
    .catch((thrown) => thrown)

  expect(error).toBeInstanceOf(VerifierUnavailable)
  expect((error as Error).message).not.toMatch(/to\/ke|p%ss|true/)
})
