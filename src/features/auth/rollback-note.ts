import type { RollbackNote } from '../../core/admin/commands/command-part.ts'

export const rollbackNote: RollbackNote = {
  help: 'Where auth was taken out, only admin and listen.tls stay; auth and clients come back as they were.',
  kept: (changes) =>
    changes.some(({ path, from }) => path === 'auth' && from === 'none')
      ? 'admin and listen.tls as they are now, auth and clients as they were'
      : null,
}
