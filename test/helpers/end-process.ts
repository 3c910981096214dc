import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Ends a process and waits; kills it when it has not ended after so long. Returns its exit code. */
export const endProcess = async (
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGTERM',
  patienceMs = 3000,
): Promise<number | null> => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const gone = once(child, 'exit')
  child.kill(signal)
  const patience = setTimeout(() => child.kill('SIGKILL'), patienceMs)
  const [code] = await gone
  clearTimeout(patience)
  return code
}
