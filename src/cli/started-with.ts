import type { Predecessor as AuditBefore } from '../observe/audit/trail.ts'
import { confirm, type Inherited, inherited, variable } from '../serving/listeners.ts'
import { type Predecessor, predecessor } from '../serving/takeover.ts'

/** Finds out which listening sockets this process was started with, and whose place it takes. Throws when what it is told cannot be. */
export const startedWith = async (): Promise<{
  readonly inherited: Inherited
  readonly before: Predecessor | null
  readonly auditBefore: AuditBefore | null
}> => {
  const listeners = inherited(process.env, process.pid)
  confirm(listeners)
  const told = process.env[variable] !== undefined
  // Neither is for the processes that this one starts.
  for (const name of [variable, 'LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
  if (!told) return { inherited: listeners, before: null, auditBefore: null }
  const before = predecessor()
  if (before === null) throw new Error(`${variable} is set, but no process waits for this one to take its place`)
  const said = await before.said
  const auditBefore = said.audit == null ? null : { file: said.audit, over: before.released }
  return { inherited: { ...listeners, said }, before, auditBefore }
}
