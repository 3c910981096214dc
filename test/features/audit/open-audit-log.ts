import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { AuditLog, type AuditLogOptions } from '../../../src/features/audit/audit-log.ts'
import type { AuditConfig } from '../../../src/features/audit/config.ts'
import { logInMemory } from '../../helpers/gateway.ts'
import { eventually } from '../../helpers/wire.ts'

export const says = (n: number): string => `"event":"exchange","n":${n}`

export const place = () => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'audit.log')
  const config: AuditConfig = { file, key: 'k'.repeat(32), digests: 'none', onFailure: 'reject', rotate: null }
  return { folder, file, config, read: () => readFileSync(file, 'utf8') }
}

export const open = (more: Partial<AuditLogOptions> = {}) => {
  const { log, lines } = logInMemory()
  const auditLog = new AuditLog({ log, stdout: { write: () => {}, dropped: () => 0 }, ...more })
  onTestFinished(() => auditLog.close())
  return { auditLog, lines, begin: async (config: AuditConfig | null) => (await auditLog.prepare(config)).commit() }
}

/** Starts and ends an audit log with some lines. */
export const run = async (config: AuditConfig, lines: number): Promise<void> => {
  const { auditLog, begin } = open()
  await begin(config)
  for (let n = 0; n < lines; n++) auditLog.record(says(n))
  await auditLog.close()
}

/** Waits for the first line. */
export const openWriting = async (config: AuditConfig, read: () => string) => {
  const opened = open()
  await opened.begin(config)
  opened.auditLog.record(says(1))
  await eventually(() => existsSync(config.file) && read().includes(says(1)))
  return opened
}

/** Starts an audit log to which another process has written: it cannot be written. */
export const openFailing = async () => {
  const [opened, { config, file, read }] = [open(), place()]
  const { auditLog, begin } = opened
  await begin(config)
  await eventually(() => auditLog.state?.count === 1)
  const before = read()
  appendFileSync(file, 'an intruder\n')
  auditLog.record(says(1))
  await eventually(() => auditLog.failing)
  return { ...opened, ...{ config, file, read, before } }
}
