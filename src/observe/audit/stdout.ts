import type { Target } from './target.ts'

/** Is what lines for standard output go through: the queue of the main log, which never waits. */
export interface Stdout {
  write(line: string): void
  /** Counts the lines for which it had no room. */
  dropped(): number
}

/** Makes a target of standard output. Who reads it keeps it: nothing is known of a line but that there was room for it. */
export const stdoutTarget = ({ write, dropped }: Stdout): Target => ({
  name: 'stdout',
  rotateBytes: null,
  isFull: false,
  isGone: false,
  async append(bytes) {
    let at = 0
    while (at < bytes.length) {
      const end = bytes.indexOf(10, at) + 1
      const before = dropped()
      write(bytes.toString('utf8', at, end))
      if (dropped() > before) {
        if (at > 0) return at
        throw new Error('the reader of stdout is too slow')
      }
      at = end
    }
    return at
  },
  async sync() {},
  async next() {
    return null
  },
  async close() {},
})
