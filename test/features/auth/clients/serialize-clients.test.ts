import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Config } from '../../../../src/core/config/config.ts'
import { loadConfig } from '../../../../src/core/config/load/load-config.ts'
import { loadInThread } from '../../../../src/core/config/load/load-in-thread.ts'
import type { ClientConfig } from '../../../../src/features/auth/clients/config.ts'
import {
  clientsDigest,
  deserializeClients,
  serializeClients,
} from '../../../../src/features/auth/clients/serialize-clients.ts'
import { folderWith, sandbox } from '../../../core/config/helper.ts'

const client = (nth: number): ClientConfig => ({
  id: `client-${nth}`,
  disabled: false,
  apiKeys: [{ id: `key-${nth}`, sha256: 'ab'.repeat(32) }],
  claims: { client_id: `client-${nth}` },
  certificates: [],
  operations: null,
  addresses: [],
  rate: null,
  burst: null,
  concurrency: null,
})
const makeClients = (count: number): readonly ClientConfig[] => Array.from({ length: count }, (_, nth) => client(nth))

const transfer = (clients: readonly ClientConfig[], running: readonly ClientConfig[]) =>
  deserializeClients(serializeClients(clients), running)

test('serialized clients are deserialized, frozen', async () => {
  for (const clients of [makeClients(1), makeClients(600)]) {
    const again = await deserializeClients(serializeClients(clients), [])

    expect(again).toEqual(clients)
    expect([again, ...again, ...again.flatMap(({ apiKeys }) => [apiKeys, ...apiKeys])].every(Object.isFrozen)).toBe(
      true,
    )
    expect(clientsDigest(again)).toBe(clientsDigest(clients))
  }
})

test('after one is added in front, all the others are the same objects', async () => {
  const before = makeClients(600)
  const after = await transfer([client(-1), ...makeClients(600)], before)

  expect(after).toHaveLength(601)
  expect(before.every((each, nth) => each === after[nth + 1])).toBe(true)
})

test('without a change, the whole list is the same object', async () => {
  const before = makeClients(600)

  expect(await transfer(makeClients(600), before)).toBe(before)
  expect(await transfer(makeClients(599), before)).not.toBe(before)
})

test.each<[string, (list: ClientConfig[]) => ClientConfig[]]>([
  ['another key', (list) => list.with(577, { ...client(577), apiKeys: [{ id: 'key-577', sha256: 'cd'.repeat(32) }] })],
  ['one that is disabled', (list) => list.with(0, { ...client(0), disabled: true })],
  ['one less', (list) => list.toSpliced(500, 1)],
  ['one less at the end', (list) => list.slice(0, -1)],
  ['two that change places', (list) => list.with(3, client(555)).with(555, client(3))],
  ['none', () => []],
])('the transferred clients are those of the file: %s', async (_, edit) => {
  const before = await deserializeClients(serializeClients(makeClients(600)), [])
  const read = edit([...makeClients(600)])

  const after = await transfer(read, before)

  expect(after).toEqual(read)
  expect(clientsDigest(after)).toBe(clientsDigest(read))
  expect(clientsDigest(after)).not.toBe(clientsDigest(before))
})

test('deserializing leaves the thread turns for other work', async () => {
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)

  await transfer(makeClients(5000), [])
  isDone = true

  expect(turns).toBeGreaterThanOrEqual(10)
})

test('clients that are loaded in a thread are those that are loaded otherwise', async () => {
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

  expect(await loadInThread(file, {})).toEqual(loadConfig(file, {}))
})

test('an edited file of clients has new clients, and an unchanged one the same objects', async () => {
  const list = (disabled: boolean) =>
    JSON.stringify([
      { id: 'a', operations: 'all', disabled },
      { id: 'b', operations: 'all' },
    ])
  const files = { 'gateway.yaml': `${sandbox}\nauth: { methods: [apiKey] }\nclients: file:clients.json\n` }
  const folder = folderWith({ ...files, 'clients.json': list(false) })
  const file = join(folder, 'gateway.yaml')
  const read = async (running: Config | null) => {
    const loaded = await loadInThread(file, {}, running)
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    return loaded.config
  }

  const first = await read(null)
  const same = await read(first)
  writeFileSync(join(folder, 'clients.json'), list(true))
  const edited = await read(same)
  writeFileSync(join(folder, 'clients.json'), list(false))
  const back = await read(edited)

  expect(same.clients).toBe(first.clients)
  expect(edited.clients.map(({ disabled }) => disabled)).toEqual([true, false])
  expect(back).toEqual(first)
  expect(new Set([first, same, edited, back].map(({ hash }) => hash)).size).toBe(2)
})

test('a file with placeholders is read again in another environment', async () => {
  const folder = folderWith({
    'gateway.yaml': `${sandbox}\nauth: { methods: [apiKey] }\nclients: file:clients.yaml\n`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
    'clients.yaml': '- id: ${NAME}\n  operations: all\n',
  })
  const loadId = async (NAME: string) => {
    const loaded = await loadInThread(join(folder, 'gateway.yaml'), { NAME })
    return loaded.ok && loaded.config.clients[0]?.id
  }

  expect(await loadId('a')).toBe('a')
  expect(await loadId('b')).toBe('b')
})
