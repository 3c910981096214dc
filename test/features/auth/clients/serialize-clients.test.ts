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
  ...{ id: `client-${nth}`, disabled: false, apiKeys: [{ id: `key-${nth}`, sha256: 'ab'.repeat(32) }] },
  ...{ claims: { client_id: `client-${nth}` }, certificates: [], operations: null, addresses: [] },
  ...{ rate: null, burst: null, concurrency: null },
})
const makeClients = (count: number): readonly ClientConfig[] => Array.from({ length: count }, (_, nth) => client(nth))

const transfer = (clients: readonly ClientConfig[], running: readonly ClientConfig[] = []) =>
  deserializeClients(serializeClients(clients), running)

test.each([1, 600])('%d serialized clients are deserialized, frozen', async (count) => {
  const again = await transfer(makeClients(count))

  expect(again).toEqual(makeClients(count))
  const parts = [again, ...again, ...again.flatMap(({ apiKeys }) => [apiKeys, ...apiKeys])]
  expect(parts.every(Object.isFrozen)).toBe(true)
})

test('after one is added in front, all the others are the same objects; without a change, the whole list is', async () => {
  const before = makeClients(600)
  const after = await transfer([client(-1), ...makeClients(600)], before)

  expect(after).toHaveLength(601)
  expect(before.every((each, nth) => each === after[nth + 1])).toBe(true)
  expect(await transfer(makeClients(600), before)).toBe(before)
})

test.each<[string, (list: ClientConfig[]) => ClientConfig[]]>([
  ['another key', (list) => list.with(577, { ...client(577), apiKeys: [{ id: 'key-577', sha256: 'cd'.repeat(32) }] })],
  ['one that is disabled', (list) => list.with(0, { ...client(0), disabled: true })],
  ['one less', (list) => list.toSpliced(500, 1)],
  ['one less at the end', (list) => list.slice(0, -1)],
  ['two that change places', (list) => list.with(3, client(555)).with(555, client(3))],
  ['none', () => []],
])('the transferred clients are those of the file: %s', async (_, edit) => {
  const before = await transfer(makeClients(600))
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

  await transfer(makeClients(5000))
  isDone = true

  expect(turns).toBeGreaterThanOrEqual(10)
})

/** Writes a configuration whose clients stand in a file of their own; returns both. */
const withFile = (text: string) => {
  const yaml = `${sandbox}\nauth: { methods: [apiKey] }\nclients: file:clients\n`
  const folder = folderWith({ 'gateway.yaml': yaml, clients: text })
  return { file: join(folder, 'gateway.yaml'), clients: join(folder, 'clients') }
}

test('clients that are loaded in a thread are those that are loaded otherwise', async () => {
  const list = Array.from({ length: 700 }, (_, n) => ({ id: `c${n}`, operations: 'all', rate: '5/s', concurrency: 2 }))
  const { file } = withFile(JSON.stringify(list))

  expect(await loadInThread(file, {})).toEqual(loadConfig(file, {}))
})

test('an edited file of clients has new clients, and an unchanged one the same objects', async () => {
  const list = (disabled: boolean) => JSON.stringify(['a', 'b'].map((id) => ({ id, operations: 'all', disabled })))
  const { file, clients } = withFile(list(false))
  const read = async (running: Config | null) => {
    const loaded = await loadInThread(file, {}, running)
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    return loaded.config
  }

  const first = await read(null)
  const same = await read(first)
  writeFileSync(clients, list(true))
  const edited = await read(same)

  expect(same.clients).toBe(first.clients)
  expect(edited.clients.map(({ disabled }) => disabled)).toEqual([true, true])
  expect(edited.hash).not.toBe(first.hash)
})

test('a file with placeholders is read again in another environment', async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
  const { file } = withFile('- id: ${NAME}\n  operations: all\n')
  const loadId = async (NAME: string) => {
    const loaded = await loadInThread(file, { NAME })
    return loaded.ok && loaded.config.clients[0]?.id
  }

  expect([await loadId('a'), await loadId('b')]).toEqual(['a', 'b'])
})
