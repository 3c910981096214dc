import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { OnlineCheck } from '../../core/cli/built-in-command.ts'
import { errorMessage } from '../../core/lib/try.ts'

/**
 * Checks whether this user could open `audit.file`, without creating or opening it. Whether its last line was sealed
 * with the key is not checked: the gateway may be writing it.
 */
export const checkAuditFile: OnlineCheck = async ({ audit }, locate) => {
  if (audit === null || audit.file === 'stdout') return []
  const reason = await findReason(audit.file)
  if (reason === null) return []
  return [
    {
      ...locate('audit.file'),
      message: `${audit.file} cannot be opened by the user of this command: ${reason}`,
      expected: 'a file that can be written, or a folder in which it can be made',
      found: reason,
    },
  ]
}

/** Finds why a file cannot be appended to. Null: it can, or it can be made. */
const findReason = async (path: string): Promise<string | null> => {
  try {
    if (!(await stat(path)).isFile()) return 'not a regular file'
    await access(path, constants.R_OK | constants.W_OK)
    return null
  } catch (error) {
    return isMissing(error) ? findFolderReason(dirname(path)) : errorMessage(error)
  }
}

const findFolderReason = async (folder: string): Promise<string | null> => {
  try {
    await access(folder, constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    return errorMessage(error)
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'
