import { expect, onTestFinished, test, vi } from 'vitest'
import { keySlot } from '../../../src/features/redis/redis-cluster.ts'
import { connectRedis } from '../../../src/features/redis/redis-connection.ts'
import { consumeScript } from '../../../src/features/redis/redis-server.ts'
import { type RedisReply, type ScriptedRedis, scriptedRedis } from '../../helpers/scripted-redis.ts'
import { redisSettings } from './redis-settings.ts'

const patient = { timeout: 30_000 }

/** Makes the reply to CLUSTER SLOTS: each node serves an equal part, in order. */
const slotsOf = (nodes: readonly (readonly [host: string | null, port: number])[]): RedisReply =>
  nodes.map(([host, port], i) => [
    Math.ceil((i * 16_384) / nodes.length),
    Math.ceil(((i + 1) * 16_384) / nodes.length) - 1,
    [host, port, 'id', []],
  ])

const onLoopback = ({ port }: ScriptedRedis) => ['127.0.0.1', port] as const

/** Starts nodes that serve the slots between them; `slots` is what they say of that. */
const startNodes = async (count = 3, slots = (nodes: readonly ScriptedRedis[]) => slotsOf(nodes.map(onLoopback))) => {
  const nodes = await Promise.all(Array.from({ length: count }, () => scriptedRedis()))
  for (const node of nodes) node.reply = ([name]) => (name === 'CLUSTER' ? slots(nodes) : undefined)
  return nodes as [ScriptedRedis, ScriptedRedis, ScriptedRedis]
}

const connect = async (seeds: readonly ScriptedRedis[], onLost = (_: unknown): void => {}) => {
  const cluster = seeds.map(({ port }) => `redis://127.0.0.1:${port}`)
  const connection = await connectRedis(redisSettings({ cluster }), 30_000)(onLost)
  onTestFinished(() => connection.destroy())
  return connection
}

const scriptsOf = ({ commands }: ScriptedRedis) => commands.filter(([name]) => name === 'EVALSHA')

// Of three nodes, each serves about 5461 slots.
const keyOfNode = (node: number): string => {
  for (let n = 0; ; n++) if (Math.floor(keySlot(`key-${n}`) / 5462) === node) return `key-${n}`
}

test('a script runs at the node that serves its key, of which one seed is enough to know', async () => {
  const nodes = await startNodes()
  const connection = await connect(nodes.slice(0, 1))

  for (const node of [0, 1, 2]) await connection.consume(keyOfNode(node), 1, 5)

  expect(nodes.map((node) => scriptsOf(node).map(([, , , key]) => key))).toEqual([0, 1, 2].map((n) => [keyOfNode(n)]))
})

test('a probe writes at each node', async () => {
  const nodes = await startNodes()
  const connection = await connect(nodes)

  expect(await connection.probe()).toBe(true)

  expect(nodes.map((node) => scriptsOf(node).length)).toEqual([1, 1, 1])
  nodes[1].reply = () => new Error('CLUSTERDOWN The cluster is down')
  await expect(connection.probe()).rejects.toThrow('CLUSTERDOWN')
})

test('a slot that has moved to another node is found there from then on', async () => {
  const nodes = await startNodes()
  const connection = await connect(nodes)
  const key = keyOfNode(0)
  const { reply } = nodes[0]
  nodes[0].reply = (command) =>
    command[3] === key ? new Error(`MOVED ${keySlot(key)} 127.0.0.1:${nodes[2].port}`) : reply(command)

  for (let n = 0; n < 3; n++) expect(await connection.consume(key, 1, 5)).toBe(1)

  expect(nodes.map((node) => scriptsOf(node).length)).toEqual([1, 0, 3])
})

test('a slot that is just moving is asked for at its new node, this time', async () => {
  const nodes = await startNodes()
  const connection = await connect(nodes)
  const key = keyOfNode(0)
  nodes[0].reply = () => new Error(`ASK ${keySlot(key)} 127.0.0.1:${nodes[1].port}`)

  for (let n = 0; n < 2; n++) expect(await connection.consume(key, 1, 5)).toBe(1)

  expect(nodes.map((node) => scriptsOf(node).length)).toEqual([2, 2, 0])
  const names = nodes[1].commands.map(([name]) => name).filter((name) => name === 'ASKING' || name === 'EVALSHA')
  expect(names).toEqual(['ASKING', 'EVALSHA', 'ASKING', 'EVALSHA'])
})

test('a slot that has moved to a node that is not connected ends the connection', async () => {
  const nodes = await startNodes()
  const onLost = vi.fn()
  const connection = await connect(nodes, onLost)
  nodes[0].reply = () => new Error('MOVED 1 127.0.0.1:1')

  await expect(connection.consume(keyOfNode(0), 1, 5)).rejects.toThrow('MOVED')

  expect(String(onLost.mock.calls[0]?.[0])).toContain('the cluster has changed: 127.0.0.1:1 serves a slot')
})

test('two nodes that send a script to each other do not send it round for ever', async () => {
  const nodes = await startNodes(2)
  const connection = await connect(nodes)
  nodes[0].reply = () => new Error(`MOVED 1 127.0.0.1:${nodes[1].port}`)
  nodes[1].reply = () => new Error(`MOVED 1 127.0.0.1:${nodes[0].port}`)

  await expect(connection.consume('key', 1, 5)).rejects.toThrow('MOVED')

  expect(nodes.flatMap(scriptsOf)).toHaveLength(3)
})

test('one node that cannot be reached is named, and nothing stays open', async () => {
  const nodes = await startNodes()
  nodes[1].close()

  await expect(connect(nodes.slice(0, 1))).rejects.toThrow(`127.0.0.1:${nodes[1].port}`)

  for (const node of nodes) await expect.poll(node.connections, patient).toBe(0)
})

test('one lost connection is the end of all, and names the node', async () => {
  const nodes = await startNodes()
  const onLost = vi.fn()
  await connect(nodes, onLost)

  nodes[2].close()

  await vi.waitFor(() => expect(onLost).toHaveBeenCalled(), patient)
  expect(String(onLost.mock.calls[0]?.[0])).toContain(`127.0.0.1:${nodes[2].port}: `)
})

test('a seed that is gone does not matter while another one knows', async () => {
  const nodes = await startNodes()
  const gone = await scriptedRedis()
  gone.close()
  // At random, so each place is tried first now and then.
  for (let n = 0; n < 8; n++) (await connect([gone, ...nodes])).destroy()

  await expect(connect([gone])).rejects.toThrow(`no node names the slots: connect ECONNREFUSED 127.0.0.1:${gone.port}`)
})

test.each([
  ['no node at all', (): RedisReply => [], 'no node serves slot 0'],
  ['not all slots', (): RedisReply => [[0, 16_382, ['127.0.0.1', 1]]], 'no node serves slot 16383'],
  ['more slots than there are', (): RedisReply => [[0, 16_384, ['127.0.0.1', 1]]], 'no range of slots'],
  ['a text', (): RedisReply => 'what?', 'no list of slots'],
  ['an error', (): RedisReply => new Error('ERR This instance has cluster support disabled'), 'support disabled'],
])('a cluster that names %s is none', async (_, slots, reason) => {
  const nodes = await startNodes(1, slots)

  await expect(connect(nodes)).rejects.toThrow(reason)
})

test.each([null, '', '?'])('a node that does not know its own host (%j) is where it was asked', async (host) => {
  const nodes = await startNodes(1, ([node]) => slotsOf([[host, node?.port ?? 0]]))

  const connection = await connect(nodes)

  expect(await connection.run(consumeScript, { keys: ['key'], args: ['1', '5'] })).toEqual(Buffer.from('1'))
})

// Redis Cluster specification, "Key distribution model" and "Hash tags"; the numbers are from CLUSTER KEYSLOT.
test.each([
  ['123456789', 12_739],
  ['', 0],
  ['foo', 12_182],
  ['{foo}bar', 12_182],
  ['a:{foo}:{bar}', 12_182],
  ['{user1000}.following', keySlot('user1000')],
  ['foo{}{bar}', 8363],
  ['foo{{bar}}zap', keySlot('{bar')],
  ['foo{bar', 15_278],
  ['schlüssel', 7677],
])('the slot of %j is %i', (key, slot) => {
  expect(keySlot(key)).toBe(slot)
})
