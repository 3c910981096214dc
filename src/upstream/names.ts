import { type LookupAddress, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'

// A lookup holds one of the four threads of the process that read files as well, and while no name server answers it holds it for many
// seconds: all four, and no edit of the configuration is noticed any more, just when somebody reroutes around the outage.
const maxAtOnce = 2

const running = new Map<string, Promise<readonly LookupAddress[]>>()
const waiting: (() => void)[] = []
let free = maxAtOnce

/**
 * Finds the addresses of a name as every other program of the machine does, the hosts file and a container's search domains included:
 * `dns.resolve` asks the name servers alone, and finds nothing that stands in /etc/hosts. Two at once, and each name once. Rejects with the
 * system's error.
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

const inTurn = async (hostname: string): Promise<readonly LookupAddress[]> => {
  if (free > 0) free--
  else await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await new Promise((resolve, reject) => {
      lookup(hostname, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)))
    })
  } finally {
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  }
}
