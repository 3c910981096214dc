import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyAuditLog } from '../../../src/features/audit/chain/verify-command.ts'
import type { OnTestEnd } from '../../helpers/editable-file.ts'

/** A line, parsed. */
export interface AuditLine {
  readonly [field: string]: unknown
  readonly event: string
  readonly requestId?: string
}

export interface AuditLog {
  readonly file: string
  readonly key: string
  readonly settings: { readonly file: string; readonly key: string }
  /** Text of all files, the rotated ones first. */
  text(): string
  lines(): readonly AuditLine[]
  files(): readonly string[]
  /** Returns the exit code and the faults of `audit verify`. */
  verify(checkpoints?: readonly string[]): Promise<{ readonly code: number; readonly errors: string }>
}

export const createAuditLog = (onEnd: OnTestEnd): AuditLog => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  onEnd(() => rmSync(folder, { recursive: true }))
  const [file, key] = [join(folder, 'audit.log'), `file:${join(folder, 'key')}`]
  writeFileSync(join(folder, 'key'), `${'k'.repeat(32)}\n`)
  const files = (): readonly string[] =>
    readdirSync(folder)
      .filter((name) => name.startsWith('audit.log'))
      .map((name) => join(folder, name))
      .sort((one, other) => order(one) - order(other))
  // A renamed file may have any name.
  const order = (name: string): number => Number(/"seq":(\d+)/.exec(readFileSync(name, 'utf8'))?.[1])
  const text = (): string =>
    files()
      .map((name) => readFileSync(name, 'utf8'))
      .join('')
  return {
    file,
    key,
    settings: { file, key },
    text,
    lines: () =>
      text()
        .split('\n')
        .slice(0, -1)
        .map((line): AuditLine => JSON.parse(line)),
    files,
    async verify(checkpoints = []) {
      const errors: string[] = []
      const io = { out: () => {}, error: (said: string) => void errors.push(said) }
      const code = await verifyAuditLog(files(), { key: [key], checkpoint: checkpoints, mixed: false }, io)
      return { code, errors: errors.join('') }
    },
  }
}

/** The result of `audit verify` for an intact log. */
export const whole = { code: 0, errors: '' }

export const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')
