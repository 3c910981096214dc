/** Makes endpoints go wrong in one way after the other, and mend. */
import { setTimeout as pause } from 'node:timers/promises'
import * as does from '../lab/endpoint-behavior.ts'
import type { Disturbances } from './disturbances.ts'
import { respondLarge } from './large-responses.ts'
import type { Faulty } from './site.ts'
import { type Ongoing, ongoing } from './traffic.ts'

interface Fault {
  readonly fault: string
  /** Null: it refuses connections, and cuts those that it has. */
  readonly behavior: does.EndpointBehavior | null
  /** What may be said of a request that met it. */
  readonly may: readonly string[]
}

const resets = ['502 connect-failed', '502 reset-before-headers']
const silence = ['504 headers-timeout', '503 overloaded']

const faults: readonly Fault[] = [
  { fault: 'rejects', behavior: null, may: resets },
  // A client that is connected already gets no response.
  { fault: 'resets at accept', behavior: does.resetAtAccept, may: [...resets, ...silence] },
  { fault: 'resets when it has the request', behavior: does.resetWhenWhole, may: resets },
  { fault: 'hangs', behavior: does.hang, may: silence },
  { fault: 'responds with 500', behavior: does.respond({ status: 500 }), may: ['500'] },
  { fault: 'truncates', behavior: does.truncate, may: ['cut'] },
  { fault: 'stalls in its body', behavior: does.stallInBody, may: ['cut'] },
  { fault: 'drips its head', behavior: does.dripHead, may: silence },
  { fault: 'is slow', behavior: does.respond({ latencyMs: 300 }), may: [] },
  { fault: 'is no server', behavior: does.garbage, may: ['502 bad-response'] },
  { fault: 'cuts idle connections', behavior: does.cutIdle, may: resets },
  { fault: 'closes after each response', behavior: does.closeAfterResponse, may: [] },
]

const wrongForMs = 3000
const soundForMs = 5000

// What began before it was mended may come to its timeout; a breaker stays open for a second, and for another when its
// probes fail.
const aftermathMs = 6000

/** Takes the groups through every fault, each beginning with another one. */
export const goWrong = (faulty: readonly Faulty[], disturbances: Disturbances): Ongoing => {
  const turns = faulty.map((_, nth) => nth * 3)
  return ongoing(faulty.length, soundForMs, async (nth) => {
    const one = faulty[nth] as Faulty
    const { fault, behavior, may } = faults[(turns[nth] as number) % faults.length] as Fault
    turns[nth] = (turns[nth] as number) + 1
    const over = disturbances.begin(`an endpoint ${fault}`, one.group, [...may, '503 circuit-open'], aftermathMs)
    if (behavior === null) await one.faulty.refuseConnections()
    else one.faulty.behave(behavior)
    await pause(wrongForMs)
    if (behavior === null) await one.faulty.listen()
    else one.faulty.behave(respondLarge())
    over()
  })
}
