import { expect, onTestFinished, test, vi } from 'vitest'
import { connectRedis } from '../../../src/features/redis/redis-connection.ts'
import { type ScriptedRedis, scriptedRedis } from '../../helpers/scripted-redis.ts'
import { redisSettings } from './redis-settings.ts'

const patient = { timeout: 30_000 }

/** What a Sentinel knows. */
interface Knowledge {
  /** Of the last election that is over. */
  readonly master: number
  readonly epoch: number
  /** Whether it leads a failover just now. */
  readonly isLeading?: boolean
  /** The replica that was elected in that failover. */
  readonly elected?: number
}

const knows = ({ master, epoch, elected = master, isLeading = false }: Knowledge): ScriptedRedis['reply'] => {
  const flags = isLeading ? 'master,failover_in_progress,force_failover' : 'master'
  const state = ['name', 'm', 'ip', '127.0.0.1', 'port', String(master), 'flags', flags, 'config-epoch', String(epoch)]
  return ([command, what]) => {
    if (command !== 'SENTINEL') return undefined
    return what === 'MASTER' ? state : ['127.0.0.1', String(elected)]
  }
}

const connect = async (
  sentinels: readonly { readonly port: number }[],
  onLost = (_: unknown): void => {},
  timeoutMs = 30_000,
) => {
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`)
  const settings = redisSettings({ sentinels: addresses, name: 'm' })
  const connection = await connectRedis(settings, timeoutMs)(onLost)
  onTestFinished(() => connection.destroy())
  return connection
}

/** Starts Sentinels, each with what it knows. */
const startSentinels = (...known: readonly Knowledge[]) => Promise.all(known.map((each) => scriptedRedis(knows(each))))

const countOf = ({ commands }: ScriptedRedis): number => commands.filter(([name]) => name === 'EVALSHA').length

test('what the Sentinel of the latest election says counts', async () => {
  const [before, now] = [await scriptedRedis(), await scriptedRedis()]
  const earlier = { master: before.port, epoch: 3 }

  const connection = await connect(await startSentinels(earlier, { master: now.port, epoch: 4 }, earlier))

  expect(await connection.consume('key', 1, 5)).toBe(1)
  expect([countOf(before), countOf(now)]).toEqual([0, 1])
})

test('a replica that was elected is the master while the failover is not over yet', async () => {
  const [before, now] = [await scriptedRedis(), await scriptedRedis()]
  const earlier = { master: before.port, epoch: 3 }

  const connection = await connect(await startSentinels(earlier, { ...earlier, isLeading: true, elected: now.port }))

  await connection.consume('key', 1, 5)
  expect([countOf(before), countOf(now)]).toEqual([0, 1])
})

test('Sentinels that are gone do not matter while one knows', async () => {
  const master = await scriptedRedis()
  const gone = await scriptedRedis()
  gone.close()
  const sentinels = [gone, await scriptedRedis(knows({ master: master.port, epoch: 0 }))]

  const connection = await connect(sentinels)

  expect(await connection.consume('key', 1, 5)).toBe(1)
})

test('where no Sentinel knows the master, the reason says so of each', async () => {
  const unknown = await scriptedRedis(() => new Error('ERR No such master with that name'))
  const strange = await scriptedRedis(() => 'what?')
  const silent = await scriptedRedis()

  await expect(connect([unknown, strange])).rejects.toThrow(
    `no Sentinel names the master: 127.0.0.1:${unknown.port}: ERR No such master with that name; 127.0.0.1:${strange.port}: no address of a master`,
  )
  await expect(connect([silent], undefined, 50)).rejects.toThrow(`127.0.0.1:${silent.port}: no reply within 50ms`)
  for (const { connections } of [unknown, strange, silent]) await expect.poll(connections, patient).toBe(0)
})

test('a master that cannot be reached is named, and nothing stays open', async () => {
  const master = await scriptedRedis()
  master.close()
  const sentinel = await scriptedRedis(knows({ master: master.port, epoch: 0 }))

  await expect(connect([sentinel])).rejects.toThrow(`127.0.0.1:${master.port}`)

  await expect.poll(sentinel.connections, patient).toBe(0)
})

test('another master after a later election ends the connection', async () => {
  const [before, now] = [await scriptedRedis(), await scriptedRedis()]
  const sentinel = await scriptedRedis(knows({ master: before.port, epoch: 3 }))
  const onLost = vi.fn()
  await connect([sentinel], onLost)

  sentinel.reply = knows({ master: now.port, epoch: 4 })

  await vi.waitFor(() => expect(onLost).toHaveBeenCalled(), patient)
  expect(String(onLost.mock.calls[0]?.[0])).toContain(`another master: 127.0.0.1:${now.port}`)
})

test('a master that a Sentinel is replacing is left before another is elected, and not taken up again', async () => {
  const master = await scriptedRedis()
  const known = { master: master.port, epoch: 3 }
  const sentinels = await startSentinels(known, known)
  const onLost = vi.fn()
  await connect(sentinels, onLost)

  for (const sentinel of sentinels.slice(1)) sentinel.reply = knows({ ...known, isLeading: true })

  await vi.waitFor(() => expect(onLost).toHaveBeenCalled(), patient)
  const reason = `the Sentinels are replacing the master: 127.0.0.1:${master.port}`
  expect(String(onLost.mock.calls[0]?.[0])).toContain(reason)
  await expect(connect(sentinels)).rejects.toThrow(reason)
})

test('a Sentinel that was cut off, and names an earlier master, ends nothing; nor does one that is gone', async () => {
  const [before, now] = [await scriptedRedis(), await scriptedRedis()]
  const latest = { master: now.port, epoch: 4 }
  const [stale, gone] = (await startSentinels(latest, latest)) as [ScriptedRedis, ScriptedRedis]
  const onLost = vi.fn()
  const connection = await connect([stale, gone], onLost)

  const asked = stale.commands.length
  stale.reply = knows({ master: before.port, epoch: 3 })
  gone.close()

  await vi.waitFor(() => expect(stale.commands.length).toBeGreaterThan(asked + 3), patient)
  expect(onLost).not.toHaveBeenCalled()
  expect(await connection.consume('key', 1, 5)).toBe(1)
})

test('closed, it leaves no connection behind', async () => {
  const master = await scriptedRedis()
  const sentinel = await scriptedRedis(knows({ master: master.port, epoch: 0 }))
  const onLost = vi.fn()
  const connection = await connect([sentinel], onLost)
  expect([master.connections(), sentinel.connections()]).toEqual([1, 1])

  connection.destroy()

  for (const { connections } of [master, sentinel]) await expect.poll(connections, patient).toBe(0)
  expect(onLost).not.toHaveBeenCalled()
})
