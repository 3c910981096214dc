import type { Readable } from 'node:stream'

export type LogLine = { readonly [field: string]: unknown; readonly msg: string }

/** Keeps the lines of a log, and the callers that wait for one of them. */
export const logLines = () => {
  const lines: LogLine[] = []
  const waiting = new Set<() => void>()
  return {
    lines: lines as readonly LogLine[],
    add(...more: readonly LogLine[]): void {
      lines.push(...more)
      for (const look of [...waiting]) look()
    },
    /** Waits for a line, perhaps one that is there already. */
    line: (wanted: (line: LogLine) => boolean): Promise<LogLine> =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = lines.find(wanted)
          if (found === undefined) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
  }
}

/** Keeps the lines of a process's log: each line is whole, or reading it fails. */
export const followLog = (stdout: Readable) => {
  const log = logLines()
  let rest = ''
  stdout.setEncoding('utf8').on('data', (text: string) => {
    const whole = (rest + text).split('\n')
    rest = whole.pop() ?? ''
    log.add(...whole.map((line): LogLine => JSON.parse(line)))
  })
  return log
}
