/** Memory to render frames into: allocating costs more than filling. */

import { blockBytes } from './connection-memory.ts'

const maxShare = blockBytes / 4

let block = Buffer.allocUnsafeSlow(blockBytes)
let blockAt = 0

const largeMemoryBytes = 160 * 1024
// The writes of a process at one time.
const maxSpare = 16
const spare: Buffer[] = []

/** Returns memory for at most `bytes`; {@link claimMemory} claims the used part. */
export const reserveMemory = (bytes: number): Buffer => {
  if (bytes > largeMemoryBytes) return Buffer.allocUnsafeSlow(bytes)
  if (bytes > maxShare) return spare.pop() ?? Buffer.allocUnsafeSlow(largeMemoryBytes)
  if (bytes > block.length - blockAt) {
    block = Buffer.allocUnsafeSlow(blockBytes)
    blockAt = 0
  }
  return block.subarray(blockAt)
}

/** Returns the used beginning of reserved memory, which is not reserved again. */
export const claimMemory = (memory: Buffer, bytes: number): Buffer => {
  if (memory.buffer === block.buffer) blockAt += bytes
  return memory.subarray(0, bytes)
}

/** Call it when the system has taken the whole write. */
export const freeMemory = (memory: Buffer): void => {
  if (memory.length === largeMemoryBytes && spare.length < maxSpare) spare.push(memory)
}
