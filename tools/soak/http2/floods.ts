/** The floods of test/security/http2, each again and again. */
import { setTimeout as pause } from 'node:timers/promises'
import { withTimeout } from '../../../src/core/lib/clock.ts'
import { block, type FrameClient, frame, get, head, openFrameClient } from '../../../test/helpers/http2.ts'
import { type Attack, floodOf, ping } from '../../../test/helpers/http2-attack.ts'
import { type Ongoing, ongoing } from '../traffic.ts'

/** How often a flood came, and how often the gateway ended its connection or cut its streams as it must. */
export interface FloodCount {
  times: number
  right: number
  /** Why not, the first time. */
  wrong: string
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const initialWindow = (bytes: number): Buffer => frame(4, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(bytes)]))
const openWindow = (stream: number, bytes: number): Buffer => frame(8, 0, stream, uint32(bytes))
const cancel = (stream: number): Buffer => frame(3, 0, stream, uint32(8))
const resizeTable = Buffer.from([0x20, 0x3f, 0xe1, 0x1f])
const upload = (stream: number): Buffer => head(stream, get('/risk/asset-valuation', 'POST'), false)

const streams = Array.from({ length: 20 }, (_, n) => 2 * n + 1)
const endless = streams.map((stream) => head(stream, get('/market/insights?endless')))

const isDone = ({ frames, socket }: FrameClient): boolean =>
  socket.destroyed || streams.every((id) => frames.some(({ type, stream }) => type === 3 && stream === id))

// The configuration allows 10 s, judged every 10 s.
const maxSlowSeconds = 40

/** Sends a little on every stream each second, until the gateway has cut all. */
const slowly =
  (first: readonly Buffer[], little: (stream: number) => Buffer): Attack =>
  async (client) => {
    await client.send(...first)
    for (let second = 0; second < maxSlowSeconds && !isDone(client); second++) {
      await client.send(...streams.map(little))
      await pause(1000)
    }
    if (!isDone(client)) throw new Error('its streams were not cut')
  }

const churnTable: Attack = async ({ send, frame: received }) => {
  for (let nth = 0; nth < 50; nth++) {
    const entries = Array.from({ length: 100 }, (_, n) =>
      Buffer.from(`\x40\x04x-${n % 10}a\x05${10_000 + 100 * nth + n}`),
    )
    await send(frame(1, 5, 2 * nth + 1, Buffer.concat([block(...get()), ...entries])))
    await received(({ type, stream }) => type <= 1 && stream === 2 * nth + 1)
  }
}

const readNothing: Attack = async ({ socket, send }) => {
  socket.pause()
  await send(initialWindow(2 ** 31 - 1), openWindow(0, 2 ** 30), ...endless)
  await pause(5000)
}

/** Those whose connection the gateway must end. */
const mustEnd: Readonly<Record<string, Attack>> = {
  'rapid reset': floodOf((nth) => [head(2 * nth + 1), cancel(2 * nth + 1)]),
  'made you reset': floodOf((nth) => [head(2 * nth + 1), openWindow(2 * nth + 1, 0)]),
  PING: floodOf(() => [ping]),
  SETTINGS: floodOf(() => [frame(4, 0, 0)]),
  CONTINUATION: floodOf(() => [frame(9, 0, 1)], frame(1, 1, 1, block(...get()))),
  'empty DATA': floodOf(() => [frame(0, 0, 1)], upload(1)),
  PRIORITY: floodOf(() => [frame(2, 0, 3, Buffer.alloc(5))]),
  'window dribble': floodOf(
    (nth) => [openWindow(streams[nth % streams.length] as number, 1)],
    ...[initialWindow(0), ...endless],
  ),
  'sizes of the HPACK table': floodOf((nth) => [
    frame(1, 5, 2 * nth + 1, Buffer.concat([resizeTable, block(...get('/nothing'))])),
  ]),
  'malformed heads': floodOf((nth) => [head(2 * nth + 1, [...get(), 'connection', 'close'])]),
  'more streams than allowed': floodOf((nth) => [upload(2 * nth + 1)]),
  'several kinds': floodOf((nth) => [ping, frame(4, 0, 0), head(2 * nth + 1, get('/nothing')), cancel(2 * nth + 1)]),
  silence: ({ ended }) => ended(),
}

const floods: Readonly<Record<string, Attack>> = {
  ...mustEnd,
  'entries of the HPACK table': churnTable,
  'slow reads': slowly([initialWindow(1000), ...endless], (stream) => openWindow(stream, 10)),
  'slow uploads': slowly(streams.map(upload), (stream) => frame(0, 0, stream, Buffer.from('a'))),
  'zero windows': slowly([initialWindow(0), ...endless], () => Buffer.alloc(0)),
  'nothing read': readNothing,
}

const names = Object.keys(floods)
const pauseMs = 4000
const lateMs = 30_000

/** Counts the floods by name. */
export const floodCounts = (): Record<string, FloodCount> =>
  Object.fromEntries(names.map((name) => [name, { times: 0, right: 0, wrong: '' }]))

/** Attacks a port with all of them at once. */
export const flooding = (port: number, counts: Record<string, FloodCount>): Ongoing =>
  ongoing(names.length, pauseMs, async (nth) => {
    const name = names[nth] as string
    const count = counts[name] as FloodCount
    count.times++
    try {
      await attackOnce(port, name)
      count.right++
    } catch (error) {
      count.wrong ||= String(error)
    }
  })

const attackOnce = async (port: number, name: string): Promise<void> => {
  const client = await openFrameClient(port)
  try {
    await floods[name]?.(client)
    if (!(name in mustEnd)) return
    await withTimeout(client.ended(), lateMs)
    if (!client.socket.destroyed) throw new Error(`${name}: its connection was not ended`)
  } finally {
    client.socket.destroy()
  }
}
