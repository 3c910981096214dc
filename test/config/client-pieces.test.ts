import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ClientConfig } from '../../src/config/auth-config.ts'
import { clientsOf, digestOf, piecesOf } from '../../src/config/client-pieces.ts'
import { loadConfig } from '../../src/config/load.ts'
import { loadAside } from '../../src/config/load-aside.ts'
import { folderWith, sandbox } from './helper.ts'

const client = (nth: number): ClientConfig => ({
  id: `client-${nth}`,
  disabled: false,
  apiKeys: [{ id: `key-${nth}`, sha256: 'ab'.repeat(32) }],
  claims: { client_id: `client-${nth}` },
  certificates: [],
  operations: null,
  addresses: [],
  rate: null,
  concurrency: null,
})
const some = (count: number): readonly ClientConfig[] => Array.from({ length: count }, (_, nth) => client(nth))

test('what is cut into pieces is put together again, frozen', async () => {
  for (const clients of [[], some(1), some(2000)]) {
    const again = await clientsOf(piecesOf(clients))

    expect(again).toEqual(clients)
    expect([again, ...again, ...again.flatMap(({ apiKeys }) => [apiKeys, ...apiKeys])].every(Object.isFrozen)).toBe(
      true,
    )
    expect(digestOf(again)).toBe(digestOf(clients))
  }
})

test('where one is added in front, nearly all the others are the very same as before', async () => {
  const before = await clientsOf(piecesOf(some(5000)))
  const after = await clientsOf(piecesOf([client(-1), ...some(5000)]))

  const same = new Set(before)
  expect(after.filter((each) => same.has(each)).length).toBeGreaterThan(4500)
})

test('clients that are loaded in a thread of their own are those that are loaded otherwise', async () => {
  const list = Array.from({ length: 700 }, (_, nth) => ({
    id: `c${nth}`,
    operations: 'all',
    rate: '5/s',
    concurrency: 2,
  }))
  const folder = folderWith({
    'gateway.yaml': `${sandbox}\nauth: { methods: [apiKey] }\nclients: file:clients.json\n`,
    'clients.json': JSON.stringify(list),
  })
  const file = join(folder, 'gateway.yaml')

  expect(await loadAside(file, {})).toEqual(loadConfig(file, {}))
})
