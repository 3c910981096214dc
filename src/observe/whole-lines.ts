import type { Readable } from 'node:stream'

const newline = 10

// No line is nearly as long. What has no end is not kept for ever.
const longestLine = 1024 ** 2

/** Passes on what a process writes, whole lines only: what it leaves without an end, because it died meanwhile, is no line. */
export const passWholeLines = (from: Readable, passOn: (lines: Buffer) => void): void => {
  let rest: Buffer[] = []
  let restBytes = 0
  let skipping = false
  from.on('data', (read: Buffer) => {
    const chunk = skipping ? read.subarray(read.indexOf(newline) + 1 || read.length) : read
    skipping &&= !read.includes(newline)
    const end = chunk.lastIndexOf(newline) + 1
    if (end > 0) {
      passOn(restBytes === 0 ? chunk.subarray(0, end) : Buffer.concat([...rest, chunk.subarray(0, end)]))
      rest = []
      restBytes = 0
    }
    if (end < chunk.length) rest.push(chunk.subarray(end))
    restBytes += chunk.length - end
    if (restBytes <= longestLine) return
    rest = []
    restBytes = 0
    skipping = true
  })
  from.on('error', () => {}) // its end says it
}
