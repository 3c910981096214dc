/** Audit logs on a disk, as a gateway has them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { AuditConfig } from '../../../src/config/config.ts'
import { AuditLog, type AuditLogOptions } from '../../../src/observe/audit/audit-log.ts'
import { logInMemory } from '../../helpers/gateway.ts'

export const says = (n: number): string => `"event":"exchange","n":${n}`

/** Makes a folder for a log. */
export const place = () => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'audit.log')
  const config: AuditConfig = { file, key: 'k'.repeat(32), digests: 'none', onFailure: 'refuse', rotate: null }
  return { folder, file, config, read: () => readFileSync(file, 'utf8') }
}

/** Makes the audit log of a gateway, and what has it begin as a configuration says. */
export const open = (more: Partial<AuditLogOptions> = {}) => {
  const { log, lines } = logInMemory()
  const trail = new AuditLog({ log, stdout: { write: () => {}, dropped: () => 0 }, ...more })
  onTestFinished(() => trail.close())
  return { trail, lines, begin: async (config: AuditConfig | null) => (await trail.prepare(config)).commit() }
}

/** Runs a gateway's worth of it: so many lines. */
export const run = async (config: AuditConfig, lines: number): Promise<void> => {
  const { trail, begin } = open()
  await begin(config)
  for (let n = 0; n < lines; n++) trail.record(says(n))
  await trail.close()
}
