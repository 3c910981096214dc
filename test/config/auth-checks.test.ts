import { expect, test } from 'vitest'
import { problemsOf, sandbox } from './helper.ts'

const sha = 'ab'.repeat(32)
const keyed = (id: string, key: string) => `{ id: ${id}, operations: all, apiKeys: [{ id: ${key}, sha256: ${sha} }] }`

test.each([
  [
    'a second client of the same name',
    `clients: [${keyed('a', 'k1')}, ${keyed('a', 'k2')}]`,
    'clients[1].id',
    'a client of this name stands here already',
  ],
  [
    'a key that another client has',
    `clients: [${keyed('a', 'k')}, ${keyed('b', 'k')}]`,
    'clients[1].apiKeys[0].id',
    'a key of this id stands here already',
  ],
  [
    'auth for one operation alone',
    'operations: { market.insights: { auth: { methods: [apiKey] } } }',
    'operations.market.insights.auth',
    'nothing says how clients prove who they are',
  ],
  [
    'one field for identity and key',
    'auth: { methods: [apiKey], identityField: x-api-key }',
    'auth.identityField',
    'this field is used for something else',
  ],
  [
    'one field for identity and request id',
    'auth: { methods: [apiKey], identityField: X-Request-Id }',
    'auth.identityField',
    'this field is used for something else',
  ],
  [
    'a digest that is none',
    'clients: [{ id: a, operations: all, apiKeys: [{ id: k, sha256: abc }] }]',
    'clients[0].apiKeys[0].sha256',
    'not a SHA-256',
  ],
  [
    'an operation that is none of the nine',
    'clients: [{ id: a, operations: [market.insight] }]',
    'clients[0].operations[0]',
    'unknown value',
  ],
  ['no word of what a client may call', 'clients: [{ id: a }]', 'clients[0].operations', 'missing'],
  [
    'clients that nobody is asked to be',
    `clients: [${keyed('a', 'k')}]`,
    'clients',
    'this cannot be enforced: nobody is asked who it is',
  ],
  [
    'a burst of nothing',
    'auth: { methods: [apiKey] }\nclients: [{ id: a, operations: all, burst: 3 }]',
    'clients[0].burst',
    'a burst of no rate',
  ],
  ['no method', 'auth: { methods: [] }', 'auth.methods', 'the list is empty'],
])('%s is refused where it stands', (_, text, path, message) => {
  expect(problemsOf(`${sandbox}\n${text}`)).toContainEqual(expect.objectContaining({ path, message }))
})

test('auth: none for one operation needs no auth for the others', () => {
  expect(problemsOf(`${sandbox}\noperations: { market.insights: { auth: none } }`)).toEqual([])
})
