import { confirm, type Inherited, inherited, variable } from '../serving/listeners.ts'
import { type Predecessor, predecessor } from '../serving/takeover.ts'

/** Finds out which listening sockets this process was started with, and whose place it takes. Throws when what it is told cannot be. */
export const startedWith = async (): Promise<{
  readonly inherited: Inherited
  readonly before: Predecessor | null
}> => {
  const listeners = inherited(process.env, process.pid)
  confirm(listeners)
  const told = process.env[variable] !== undefined
  // Neither is for the processes that this one starts.
  for (const name of [variable, 'LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
  if (!told) return { inherited: listeners, before: null }
  const before = predecessor()
  if (before === null) throw new Error(`${variable} is set, but no process waits for this one to take its place`)
  return { inherited: { ...listeners, said: await before.said }, before }
}
