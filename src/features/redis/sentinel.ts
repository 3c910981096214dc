import { repeatWithJitter, withTimeout } from '../../core/lib/clock.ts'
import { connectDirectory, type DirectoryServer } from './redis-server.ts'
import { formatAddress, nameServer, type RedisAddress, type RedisServerOptions } from './redis-settings.ts'

// In an orderly failover the old master takes commands for seconds, and these writes are lost. So Sentinels are polled
// this often. They also publish the change, but whether they are alive would need polling anyway.
const watchMs = 500

/** Of the latest election that any Sentinel knows. `onReplaced`: a later election; called once or more often. */
export const watchMaster = async (
  sentinels: readonly RedisServerOptions[],
  name: string,
  onReplaced: (reason: Error) => void,
) => {
  const watches = sentinels.map((sentinel) => watchSentinel(sentinel, name))
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

/** All requests use one connection until it closes. */
const watchSentinel = (options: RedisServerOptions, name: string) => {
  const commands = ['MASTER', 'GET-MASTER-ADDR-BY-NAME'].map((what) => ['SENTINEL', what, name])
  let sentinel: DirectoryServer | null = null
  let isEnded = false
  let stop = (): void => {}

  const close = (): void => {
    sentinel?.destroy()
    sentinel = null
  }

  const fetchReplies = async (): Promise<readonly unknown[] | null> => {
    if (sentinel !== null) return withTimeout(sentinel.ask(commands), options.connectTimeoutMs)
    const connected = await connectDirectory(options, commands)
    if (isEnded) connected.destroy()
    else sentinel = connected
    return connected.replies
  }

  /** The error names the Sentinel. */
  const ask = async (): Promise<NamedMaster> => {
    try {
      const replies = await fetchReplies()
      if (replies === null) throw new Error(`no reply within ${options.connectTimeoutMs}ms`)
      return parseMaster(replies[0], replies[1])
    } catch (error) {
      close()
      throw nameServer(options, error)
    }
  }

  return {
    ask,
    /** Continues if the Sentinel does not know the master. */
    start(onReply: (master: NamedMaster) => void): void {
      stop = repeatWithJitter(async () => {
        const master = await ask().catch(() => null)
        return () => {
          if (master !== null) onReply(master)
          return watchMs
        }
      }, watchMs)
    },
    destroy(): void {
      isEnded = true
      stop()
      close()
    },
  }
}

/** While a Sentinel leads a failover, `address` is the elected replica, but `state` has the old election number. */
const parseMaster = (state: unknown, address: unknown) => {
  const list = Array.isArray(state) ? state.map(String) : []
  const read = (name: string): string => list[list.findIndex((each, i) => i % 2 === 0 && each === name) + 1] ?? ''
  const [host = '', port = ''] = Array.isArray(address) ? address.map(String) : []
  const isElected = host !== read('ip') || port !== read('port')
  const isLeaving = !isElected && read('flags').includes('failover_in_progress')
  const election = Number(read('config-epoch')) + (isElected ? 0.5 : 0)
  if (host === '' || !(Number(port) > 0 && Number(port) <= 65_535) || !(election >= 0))
    throw new Error('no address of a master')
  // A partitioned Sentinel knows an earlier election. `isLeaving`: the next master is not known yet.
  return { host, port: Number(port), election, isLeaving }
}
