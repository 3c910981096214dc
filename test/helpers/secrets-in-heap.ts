/** Secrets that only a file knows, and what a process still has of them in its memory. */
import { randomBytes } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { writeHeapSnapshot } from 'node:v8'

/** Makes a secret and adds it to a file, as a line. It is letters alone: nothing in its look says that it is data. */
export const newSecret = (file: string): string => {
  const secret = randomBytes(12)
    .toString('hex')
    .replace(/\d/g, (digit) => String.fromCharCode(103 + Number(digit)))
  appendFileSync(file, `${secret}\n`)
  return secret
}

/** Writes the process's heap to a file, after all that nothing holds has gone. */
export const writeSettledHeap = async (file: string): Promise<void> => {
  // V8 keeps the text of the last match.
  'x'.match(/x/)
  for (let i = 0; i < 5; i++) {
    globalThis.gc?.()
    await wait(20)
  }
  writeHeapSnapshot(file)
}
