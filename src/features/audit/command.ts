import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Command } from 'commander'
import type { BuiltInCommand, ExplainPart, OnlineCheck } from '../../core/cli/built-in-command.ts'
import { errorMessage } from '../../core/lib/try.ts'
import type { VerifyOptions } from './chain/verify-command.ts'

const auditHelp = `
FILE... are the files of one audit log, in any order. Each may be verified alone, from where it says that it begins.
The key is the one of audit.key; after a change of the key, give both. A checkpoint is COUNT:HASH, as the line "audit checkpoint" of the main log says
them, or a file that holds such lines: the main log. Without one, verify cannot see whether the end was cut off.

Exit code: 0 all is as it was written, 1 something is not, 2 wrong usage, or a file cannot be read.

Example:
  lender-gateway audit verify /var/log/lender-gateway/audit.log* --key file:/run/secrets/audit-key --checkpoint gateway.log`

const createAuditCommand = (): Command =>
  new Command('audit')
    .description('Work with audit logs.')
    .addHelpText('after', auditHelp)
    .addCommand(createVerifyCommand())

const createVerifyCommand = (): Command =>
  new Command('verify')
    .description('Tell whether an audit log is as it was written: no line edited, dropped, inserted or moved.')
    .argument('<FILE...>', 'the files')
    .requiredOption('--key <file:PATH>', 'the key; again for further ones', collect)
    .option('--checkpoint <COUNT:HASH|FILE>', 'where the chain stood once; again for further ones', collect, [])
    .option('--mixed', 'the lines stand among others, as with audit.file: stdout', false)
    .addHelpText('after', auditHelp)
    .action(async (files: readonly string[], options: VerifyOptions) => {
      const { verifyAuditLog } = await import('./chain/verify-command.ts')
      process.exitCode = await verifyAuditLog(files, options)
    })

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

export const builtInCommands: readonly BuiltInCommand[] = [{ before: 'check', create: createAuditCommand }]

/** Checks access as this user. Not checked: the key of the last line, since the gateway may be writing. */
const checkAuditFile: OnlineCheck = async ({ audit }, locate) => {
  if (audit === null || audit.file === 'stdout') return []
  const found = await findReason(audit.file)
  if (found === null) return []
  const message = `${audit.file} cannot be opened by the user of this command: ${found}`
  const expected = 'a file that can be written, or a folder in which it can be made'
  return [{ ...locate('audit.file'), message, expected, found }]
}

const findReason = async (path: string): Promise<string | null> => {
  const findAccessReason = (at: string, mode: number) => access(at, mode).then(() => null, errorMessage)
  try {
    if (!(await stat(path)).isFile()) return 'not a regular file'
    return await findAccessReason(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return isMissing ? findAccessReason(dirname(path), constants.W_OK | constants.X_OK) : errorMessage(error)
  }
}

export const onlineChecks: readonly OnlineCheck[] = [checkAuditFile]

export const loadExplain = async (): Promise<ExplainPart> => ({
  settings: [
    {
      after: 'requestId',
      rows: (_, rowsUnder) => {
        const amongLayers = new Set(rowsUnder('audit.key', 'audit.onFailure', 'audit.digests'))
        return rowsUnder('audit').filter((row) => !amongLayers.has(row))
      },
    },
  ],
})
