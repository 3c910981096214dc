import { repeatWithJitter, withTimeout } from '../../core/lib/clock.ts'
import { connectDirectory, type DirectoryServer } from './redis-server.ts'
import { formatAddress, nameServer, type RedisAddress, type RedisServerOptions } from './redis-settings.ts'

// In an orderly failover the old master takes commands for seconds, and these writes are lost. So Sentinels are polled
// this often. They also publish the change, but whether they are alive would need polling anyway.
const watchMs = 500

/**
 * Finds the master of the latest election that any Sentinel knows, and watches for a later one (`onReplaced`, once or
 * more often). Rejects when no Sentinel knows the master. A server that is a replica after all rejects the first write.
 */
export const watchMaster = async (
  sentinels: readonly RedisServerOptions[],
  name: string,
  onReplaced: (reason: Error) => void,
) => {
  const watches = sentinels.map((sentinel) => new SentinelWatch(sentinel, name))
  const destroy = (): void => {
    for (const watch of watches) watch.destroy()
  }
  const replies = await Promise.allSettled(watches.map((watch) => watch.ask()))
  const [latest] = replies
    .flatMap((reply) => (reply.status === 'fulfilled' ? [reply.value] : []))
    .sort((a, b) => b.election - a.election || Number(b.isLeaving) - Number(a.isLeaving))
  if (latest === undefined || latest.isLeaving) {
    destroy()
    const reasons = replies.flatMap((reply) => (reply.status === 'rejected' ? [reply.reason.message] : []))
    throw latest ? leavingError(latest) : new Error(`no Sentinel names the master: ${reasons.join('; ')}`)
  }
  for (const watch of watches)
    watch.start((master) => {
      if (master.isLeaving && master.election >= latest.election) onReplaced(leavingError(master))
      if (master.election > latest.election && formatAddress(master) !== formatAddress(latest))
        onReplaced(new Error(`the Sentinels name another master: ${formatAddress(master)}`))
    })
  return { address: latest, destroy }
}

const leavingError = (master: RedisAddress): Error =>
  new Error(`the Sentinels are replacing the master: ${formatAddress(master)}`)

type NamedMaster = ReturnType<typeof parseMaster>

/** Polls one Sentinel, on one connection as long as that lasts. */
class SentinelWatch {
  readonly #options: RedisServerOptions
  readonly #commands: readonly (readonly string[])[]
  #sentinel: DirectoryServer | null = null
  #isEnded = false
  #stop = (): void => {}

  constructor(options: RedisServerOptions, name: string) {
    this.#options = options
    this.#commands = ['MASTER', 'GET-MASTER-ADDR-BY-NAME'].map((what) => ['SENTINEL', what, name])
  }

  /** The error names the Sentinel. */
  async ask(): Promise<NamedMaster> {
    try {
      const replies = this.#sentinel === null ? await this.#connect() : await this.#askAgain(this.#sentinel)
      return parseMaster(replies[0], replies[1])
    } catch (error) {
      this.#close()
      throw nameServer(this.#options, error)
    }
  }

  /** Goes on if the Sentinel does not know the master. */
  start(onReply: (master: NamedMaster) => void): void {
    this.#stop = repeatWithJitter(async () => {
      const master = await this.ask().catch(() => null)
      return () => {
        if (master !== null) onReply(master)
        return watchMs
      }
    }, watchMs)
  }

  destroy(): void {
    this.#isEnded = true
    this.#stop()
    this.#close()
  }

  async #connect(): Promise<readonly unknown[]> {
    const sentinel = await connectDirectory(this.#options, this.#commands)
    if (this.#isEnded) sentinel.destroy()
    else this.#sentinel = sentinel
    return sentinel.replies
  }

  async #askAgain(sentinel: DirectoryServer): Promise<readonly unknown[]> {
    const { connectTimeoutMs } = this.#options
    const replies = await withTimeout(sentinel.ask(this.#commands), connectTimeoutMs)
    if (replies === null) throw new Error(`no answer within ${connectTimeoutMs}ms`)
    return replies
  }

  #close(): void {
    this.#sentinel?.destroy()
    this.#sentinel = null
  }
}

/**
 * Parses the replies to `SENTINEL MASTER` and `GET-MASTER-ADDR-BY-NAME`. While a Sentinel leads a failover, the second
 * already names the elected replica, but the first still has the old election number.
 */
const parseMaster = (state: unknown, address: unknown) => {
  const list = Array.isArray(state) ? state.map(String) : []
  const read = (name: string): string => list[list.findIndex((each, i) => i % 2 === 0 && each === name) + 1] ?? ''
  const [host = '', port = ''] = Array.isArray(address) ? address.map(String) : []
  const isElected = host !== read('ip') || port !== read('port')
  const isLeaving = !isElected && read('flags').includes('failover_in_progress')
  const election = Number(read('config-epoch')) + (isElected ? 0.5 : 0)
  if (host === '' || !(Number(port) > 0 && Number(port) <= 65_535) || !(election >= 0))
    throw new Error('no address of a master')
  // A partitioned Sentinel knows an earlier election. `isLeaving`: it does not name the next master yet.
  return { host, port: Number(port), election, isLeaving }
}
