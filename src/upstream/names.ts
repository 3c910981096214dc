import { type LookupAddress, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Alarm, now } from '../clock.ts'

// A lookup holds one of the four threads of the process that read files as well, and while no name server answers it holds it for many
// seconds: all four, and no edit of the configuration is noticed any more, just when somebody reroutes around the outage.
const maxAtOnce = 2
// So names that hang never hold both: one that an edit brings has its turn at once, however many others hang.
const maxSlowAtOnce = 1
// A name server that answers is faster.
const slowMs = 1000
// As long as the system takes to give a name up. Whoever asks asks again, or has given up by then; what nobody waits for any more must not
// keep the others waiting.
const maxWaitMs = 10_000

const running = new Map<string, Promise<readonly LookupAddress[]>>()
/** What begins the lookups that wait for their turn, in the order in which they came. */
const waiting = new Map<string, () => void>()
/** Names whose last lookup took long. */
const slow = new Set<string>()
let atOnce = 0
let slowAtOnce = 0

/**
 * Finds the addresses of a name as every other program of the machine does, the hosts file and a container's search domains included:
 * `dns.resolve` asks the name servers alone, and finds nothing that stands in /etc/hosts. Two at once, one of them at most a name that hung
 * the last time, and each name once. Rejects with the system's error; with the one for name servers that do not answer as well when
 * there was no turn within 10 s.
 */
export const resolveName = (hostname: string): Promise<readonly LookupAddress[]> => {
  const shared = running.get(hostname)
  if (shared !== undefined) return shared
  const found = inTurn(hostname).finally(() => running.delete(hostname))
  running.set(hostname, found)
  return found
}

/** Does so for a connection that is being made. */
export const lookupName: LookupFunction = (hostname, options, callback) => {
  resolveName(hostname).then(
    (addresses) => {
      const [first] = addresses
      if (options.all === true) callback(null, [...addresses])
      else callback(null, first?.address ?? '', first?.family ?? 0)
    },
    (error: NodeJS.ErrnoException) => callback(error, ''),
  )
}

const inTurn = (hostname: string): Promise<readonly LookupAddress[]> =>
  new Promise((resolve, reject) => {
    const late = new Alarm(() => {
      waiting.delete(hostname)
      reject(Object.assign(new Error('no turn to ask the name server'), { code: 'EAI_AGAIN' }))
    })
    late.set(maxWaitMs)
    waiting.set(hostname, () => {
      late.clear()
      resolve(ask(hostname))
    })
    takeTurns()
  })

/** Begins those that may. */
const takeTurns = (): void => {
  for (const [hostname, begin] of waiting) {
    if (atOnce >= maxAtOnce) return
    if (slow.has(hostname) && slowAtOnce >= maxSlowAtOnce) continue
    waiting.delete(hostname)
    begin()
  }
}

const ask = async (hostname: string): Promise<readonly LookupAddress[]> => {
  const startedAt = now()
  const wasSlow = slow.delete(hostname)
  atOnce++
  if (wasSlow) slowAtOnce++
  try {
    return await new Promise((resolve, reject) => {
      lookup(hostname, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)))
    })
  } finally {
    if (now() - startedAt >= slowMs) slow.add(hostname)
    atOnce--
    if (wasSlow) slowAtOnce--
    takeTurns()
  }
}
