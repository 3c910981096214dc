import { onTestFinished, test as vitestTest } from 'vitest'
import { heldBytes } from './collect-garbage.ts'
import type { Settings } from './gateway.ts'
import { dialHttp2, type FrameClient, frame, frameClient, listenHttp2, missing, requestHttp2 } from './http2.ts'
import { bootLiveGateway } from './live-gateway.ts'
import { httpUpstream, onRequest, rawUpstream } from './upstream.ts'

export const test = vitestTest.skipIf(missing !== null)

/** What an attack on one connection did. */
export interface Outcome {
  /** The gateway has ended the connection. */
  readonly ended: boolean
  /** In the log. */
  readonly reasons: readonly string[]
  /** In `rejections_total`. */
  readonly counted: readonly string[]
  /** What another client got before, meanwhile and after it. */
  readonly others: readonly number[]
}

/** The connection has ended for this, or for these in the order of the alphabet, and nothing else has suffered. */
export const endedFor = (...reasons: readonly string[]): Outcome => ({
  ...wentOn,
  ended: true,
  reasons,
  counted: reasons,
})

export const wentOn: Outcome = { ended: false, reasons: [], counted: [], others: [200] }

export type Attack = (attacker: FrameClient) => Promise<unknown>

const askedAtMost = 20

/** Far more than any of these attacks may have the gateway hold, and far less than what they send. */
export const littleBytes = 16 * 1024 * 1024

/**
 * Has an attacker do its worst to a gateway with the own codec, while another client goes on asking. `measures`: the
 * memory is measured, which takes a while.
 */
export const attack = async (
  act: Attack,
  { measures = false, ...settings }: Settings & { measures?: boolean } = {},
) => {
  const upstream = await httpUpstream()
  const listen = { ...listenHttp2('own'), ...settings.listen }
  const gateway = await bootLiveGateway({ upstream: upstream.url, ...settings, listen })
  const other = dialHttp2(gateway.port)
  const ask = async (): Promise<number> => (await requestHttp2(other, { ':path': '/leads/pipeline' })).status
  const statuses = [await ask()]
  const attacker = await frameClient(gateway.port)
  onTestFinished(() => void attacker.socket.destroy())
  const before = measures ? await heldBytes() : 0

  let isOver = false
  const attacking = act(attacker).finally(() => {
    isOver = true
  })
  while (!isOver && statuses.length < askedAtMost) statuses.push(await ask())
  await attacking
  statuses.push(await ask())

  const grownBytes = measures ? (await heldBytes()) - before : Number.NaN
  const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
  const outcome: Outcome = {
    ended: attacker.socket.destroyed,
    reasons: unique(gateway.lines.flatMap(({ reason }) => (typeof reason === 'string' ? [reason] : []))),
    counted: unique(
      [...metrics.matchAll(/_rejections_total\{reason="(.*)"\} [1-9]/g)].map(([, reason = '']) => reason),
    ),
    others: unique(statuses),
  }
  const begun = upstream.begun() - statuses.length
  return { outcome, attacker, begun, grownBytes, lines: gateway.lines }
}

const unique = <T>(all: readonly T[]): T[] => [...new Set(all)].sort()

/** Repeats frames, a thousand at a time, until the connection ends; `first` comes before them. */
export const floodOf =
  (frames: (nth: number) => readonly Buffer[], ...first: readonly Buffer[]): Attack =>
  async ({ socket, send }) => {
    await send(...first)
    for (let nth = 0; nth < 100_000 && !socket.destroyed; ) {
      const batch: Buffer[] = []
      for (const end = nth + 1000; nth < end; nth++) batch.push(...frames(nth))
      await send(...batch)
    }
  }

export const ping: Buffer = frame(6, 0, 0, Buffer.alloc(8))

/** An upstream whose responses have no end; `written` counts what it could write. */
export const endlessUpstream = async () => {
  let written = 0
  const chunk = Buffer.alloc(64 * 1024)
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      const more = (): void =>
        void socket.write(chunk, (error) => {
          written += chunk.length
          if (!error) more()
        })
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n')
      more()
    }),
  )
  return { url: upstream.url, written: () => written }
}
