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
