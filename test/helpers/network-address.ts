import { networkInterfaces } from 'node:os'

const found = Object.values(networkInterfaces())
  .flat()
  .find((each) => each !== undefined && !each.internal && each.family === 'IPv4')

/**
 * The address that other machines know this one by: what connects to it counts as from the network. Null on a machine with nothing but
 * loopback, where the tests that want it are skipped aloud.
 */
export const networkAddress: string | null = found?.address ?? null

if (networkAddress === null) console.warn('skipped: this machine has no address but loopback')
