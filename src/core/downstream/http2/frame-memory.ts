/** Memory to render frames into: new memory costs more than filling it. */

import { blockBytes } from './connection-memory.ts'

// Above it, frames have memory of their own.
const maxShare = blockBytes / 4

let block = Buffer.allocUnsafeSlow(blockBytes)
let blockAt = 0

/** For large bodies. */
const largeMemoryBytes = 160 * 1024
// As many as write at the same time, in a process.
const maxSpare = 16
const spare: Buffer[] = []

/** Returns memory for at most `bytes`; what is used of it is claimed by {@link claimMemory}. */
export const reserveMemory = (bytes: number): Buffer => {
  if (bytes > largeMemoryBytes) return Buffer.allocUnsafeSlow(bytes)
  if (bytes > maxShare) return spare.pop() ?? Buffer.allocUnsafeSlow(largeMemoryBytes)
  if (bytes > block.length - blockAt) {
    block = Buffer.allocUnsafeSlow(blockBytes)
    blockAt = 0
  }
  return block.subarray(blockAt)
}

/** Returns the beginning of reserved memory, which then is not reserved again. */
export const claimMemory = (memory: Buffer, bytes: number): Buffer => {
  if (memory.buffer === block.buffer) blockAt += bytes
  return memory.subarray(0, bytes)
}

/** Called once the system has taken all of it. */
export const freeMemory = (memory: Buffer): void => {
  if (memory.length === largeMemoryBytes && spare.length < maxSpare) spare.push(memory)
}
