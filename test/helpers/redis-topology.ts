/** Runs Redis as several servers: a master whose replicas Sentinels watch, and a cluster. */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient } from '@redis/client'
import { expect } from 'vitest'
import { endProcess } from './end-process.ts'
import { freePort } from './free-port.ts'
import { type Redis, startRedis } from './redis.ts'

/** A master, its replicas and the Sentinels that watch them. */
export interface SentinelSetup {
  readonly servers: readonly Redis[]
  /** The Sentinels, as `host:port`. */
  readonly addresses: readonly string[]
  /** Finds the server that the first Sentinel names as the master. */
  readonly master: () => Promise<Redis>
  /** Tells whether all Sentinels name the same master. */
  readonly isAgreed: () => Promise<boolean>
  /** Has a replica elected in an orderly way; the master becomes a replica. */
  readonly failOver: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** The files of servers that speak TLS alone, and the authority's certificate, which the test itself needs too. */
export interface TlsFiles {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Lists the settings of such a server. */
const tlsSettings = (port: number | string, { ca, cert, key }: TlsFiles): readonly (readonly [string, string])[] => [
  ['port', '0'],
  ['tls-port', String(port)],
  ['tls-ca-cert-file', ca],
  ['tls-cert-file', cert],
  ['tls-key-file', key],
  ['tls-auth-clients', 'no'],
  ['tls-replication', 'yes'],
]

const tlsArguments = (tls: TlsFiles | undefined): readonly string[] =>
  tls === undefined ? [] : tlsSettings('{port}', tls).flatMap(([name, value]) => [`--${name}`, value])

/** Sends one command to a server of this machine. */
const askServer = async (
  port: number,
  command: readonly string[],
  tls: TlsFiles | undefined,
  password?: string,
): Promise<unknown> => {
  const client = createClient({
    socket: {
      ...{ host: '127.0.0.1', port, reconnectStrategy: false },
      ...(tls !== undefined && { tls: true, ca: readFileSync(tls.ca) }),
    },
    ...(password !== undefined && { password }),
    RESP: 2,
  })
  client.on('error', () => {})
  await client.connect()
  try {
    return await client.sendCommand([...command])
  } finally {
    client.destroy()
  }
}

/** The options of {@link startSentinels}. */
export interface SentinelOptions {
  /** How many replicas the master has; by default two. */
  readonly replicas?: number
  readonly tls?: TlsFiles
  /** More options of each server, as on its command line. */
  readonly server?: readonly string[]
  /** More lines of the file of each Sentinel. */
  readonly sentinel?: readonly string[]
  /** The password of the Sentinels' default user, for the test itself. */
  readonly password?: string
}

// Each question is a connection of its own.
const seldom = { timeout: 60_000, interval: 200 }

// A replica that waits before it copies its master cannot take its place meanwhile.
const atOnce = ['--repl-diskless-sync-delay', '0']

/** Starts a master, `mymaster`, its replicas, and three Sentinels that take it for dead after half a second. */
export const startSentinels = async (
  paths: { readonly server: string; readonly sentinel: string },
  { replicas = 2, server = [], sentinel = [], password, tls }: SentinelOptions = {},
): Promise<SentinelSetup> => {
  const folder = mkdtempSync(join(tmpdir(), 'sentinels-'))
  const own = (nth: number) => [
    '--dir',
    folder,
    '--dbfilename',
    `dump-${nth}.rdb`,
    ...atOnce,
    ...tlsArguments(tls),
    ...server,
  ]
  const first = await startRedis(paths.server, own(0))
  const replicaOf = ['--replicaof', `127.0.0.1 ${first.port}`]
  const servers = [
    first,
    ...(await Promise.all(
      [1, 2].slice(0, replicas).map((nth) => startRedis(paths.server, [...own(nth), ...replicaOf])),
    )),
  ]
  const sentinels = await Promise.all(
    [1, 2, 3].map(async (nth) => {
      const port = await freePort()
      const file = join(folder, `${nth}.conf`)
      const lines = [
        ...(tls === undefined ? [`port ${port}`] : tlsSettings(port, tls).map((each) => each.join(' '))),
        'bind 127.0.0.1',
        `dir ${folder}`,
        `sentinel monitor mymaster 127.0.0.1 ${first.port} 2`,
        'sentinel down-after-milliseconds mymaster 500',
        'sentinel failover-timeout mymaster 3000',
        ...sentinel,
      ]
      writeFileSync(file, `${lines.join('\n')}\n`)
      const child = spawn(paths.sentinel, [file], { stdio: 'ignore' })
      return { port, child }
    }),
  )
  const ask = (...command: readonly string[]): Promise<unknown> =>
    askServer(sentinels[0]?.port ?? 0, command, tls, password)
  const describeMaster = async (): Promise<string> => String(await ask('SENTINEL', 'MASTER', 'mymaster').catch(String))
  await expect
    .poll(describeMaster, seldom)
    .toMatch(new RegExp(`,flags,master,.*num-slaves,${replicas},num-other-sentinels,2,`))

  const nameMaster = (port = 0): Promise<unknown> =>
    askServer(port, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'mymaster'], tls, password)
  const master = async (): Promise<Redis> => {
    const reply = await nameMaster(sentinels[0]?.port)
    const found = servers.find(({ port }) => String(reply) === `127.0.0.1,${port}`)
    if (found === undefined) throw new Error(`no such server: ${reply}`)
    return found
  }
  return {
    servers,
    addresses: sentinels.map(({ port }) => `127.0.0.1:${port}`),
    master,
    async isAgreed() {
      const replies = await Promise.all(sentinels.map(({ port }) => nameMaster(port)))
      return new Set(replies.map(String)).size === 1
    },
    failOver: async () => void (await ask('SENTINEL', 'FAILOVER', 'mymaster')),
    async stop() {
      await Promise.all([
        ...sentinels.map(({ child }) => endProcess(child, 'SIGKILL')),
        ...servers.map((each) => each.kill()),
      ])
      rmSync(folder, { recursive: true })
    },
  }
}

/** The nodes of a cluster. */
export interface RedisClusterSetup {
  /** Masters first: as many as were asked for, each with one replica if there are any. */
  readonly nodes: readonly Redis[]
  readonly urls: readonly string[]
  /** Sends a command to a node. */
  readonly ask: (node: Redis | undefined, ...command: readonly string[]) => Promise<unknown>
  /** Waits until so many nodes say that the cluster is whole. */
  readonly isWhole: (nodes?: readonly Redis[]) => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Starts a cluster of three masters with so many replicas each. A node that is silent for `nodeTimeoutMs` is taken for
 * dead: where none dies, as long as a slow machine may keep it silent.
 */
export const startCluster = async (
  paths: { readonly server: string; readonly cli: string },
  replicas: 0 | 1 = 0,
  tls?: TlsFiles,
  nodeTimeoutMs = 1000,
): Promise<RedisClusterSetup> => {
  const folder = mkdtempSync(join(tmpdir(), 'cluster-'))
  const count = 3 * (1 + replicas)
  const nodes: Redis[] = []
  for (let nth = 0; nth < count; nth++)
    nodes.push(
      await startRedis(paths.server, [
        ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeoutMs), '--dir', folder],
        ...[
          '--cluster-config-file',
          `nodes-${nth}.conf`,
          '--dbfilename',
          `dump-${nth}.rdb`,
          ...atOnce,
          ...tlsArguments(tls),
        ],
        ...(tls === undefined ? [] : ['--tls-cluster', 'yes']),
      ]),
    )
  const ask: RedisClusterSetup['ask'] = (node, ...command) => askServer(node?.port ?? 0, command, tls)
  const isWhole: RedisClusterSetup['isWhole'] = (which = nodes) =>
    expect
      .poll(() => Promise.all(which.map((node) => ask(node, 'CLUSTER', 'INFO').catch(String))), seldom)
      .toEqual(which.map(() => expect.stringContaining('cluster_state:ok')))
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`)
  const options = ['--cluster-replicas', String(replicas), '--cluster-yes']
  const overTls = tls === undefined ? [] : ['--tls', '--cacert', tls.ca]
  await promisify(execFile)(paths.cli, [...overTls, '--cluster', 'create', ...addresses, ...options])
  await isWhole()
  return {
    nodes,
    urls: addresses.map((address) => `${tls === undefined ? 'redis' : 'rediss'}://${address}`),
    ask,
    isWhole,
    async stop() {
      await Promise.all(nodes.map((node) => node.kill()))
      rmSync(folder, { recursive: true })
    },
  }
}
