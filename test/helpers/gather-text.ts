import type { Readable } from 'node:stream'

/** Reads a stream to its end, and says what it has said so far. */
export const gatherText = (stream: Readable | null): (() => string) => {
  let text = ''
  stream?.setEncoding('utf8').on('data', (more: string) => {
    text += more
  })
  return () => text
}
