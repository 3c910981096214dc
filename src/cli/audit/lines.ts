import type { Readable } from 'node:stream'

const newline = 10

// No line of either log is nearly as long: what has no end is judged in pieces, and kept in none.
const longestLine = 1024 * 1024

/** Splits what is read into lines, without their ends; the last one may have none. */
export async function* linesOf(
  from: Readable,
): AsyncGenerator<{ readonly bytes: Buffer; readonly isEnded: boolean }, void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of from) {
    const read = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer])
    let at = 0
    for (let end = read.indexOf(newline); end !== -1; end = read.indexOf(newline, at)) {
      yield { bytes: read.subarray(at, end), isEnded: true }
      at = end + 1
    }
    rest = read.subarray(at)
    if (rest.length <= longestLine) continue
    yield { bytes: rest, isEnded: false }
    rest = Buffer.alloc(0)
  }
  if (rest.length > 0) yield { bytes: rest, isEnded: false }
}
