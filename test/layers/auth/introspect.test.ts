import { expect, test } from 'vitest'
import { VerifierUnavailable } from '../../../src/layers/auth/errors.ts'
import { introspect } from '../../../src/layers/auth/introspection.ts'
import type { HttpClient, HttpRequest } from '../../../src/shared/http-client.ts'

/** Is a server that answers so, and notes what it was asked. */
const answering = (status: number, text: string) => {
  const questions: HttpRequest[] = []
  const server: HttpClient = {
    request: async (question) => {
      questions.push(question)
      return { status, text }
    },
    close: () => {},
  }
  return { server, questions, ask: (token = 'to/ke+n=') => introspect(server, credentials, token) }
}

const credentials = { clientId: 'gate:way', clientSecret: 'p%ss wörd' }

test('it asks with a form, and says who asks', async () => {
  const { ask, questions } = answering(200, '{"active":true,"scope":"read"}')

  expect(await ask()).toEqual({ claims: { active: true, scope: 'read' }, size: 30 })

  expect(questions).toEqual([
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

test('a token that is not active is none', async () => {
  expect(await answering(200, '{"active":false,"scope":"read"}').ask()).toBeNull()
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
])('an answer %i %s lets nobody in, and is not quoted', async (status, text) => {
  const error: unknown = await answering(status, text)
    .ask()
    .catch((thrown) => thrown)

  expect(error).toBeInstanceOf(VerifierUnavailable)
  expect((error as Error).message).not.toMatch(/to\/ke|p%ss|true/)
})
