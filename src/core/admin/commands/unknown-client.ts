import type { Config } from '../../config/config.ts'
import type { AdminError } from '../admin-error.ts'
import { badRequest } from './argument.ts'

export const rejectUnknownClient = async (name: string, { clients }: Config): Promise<AdminError | null> => {
  const known = clients.map(({ id }) => id)
  if (known.includes(name)) return null
  // The command line reads the commands too, and looks no name up.
  const { suggestNearest } = await import('../../config/suggest.ts')
  const near = suggestNearest(name, known)
  return badRequest(
    `client: none under clients is named ${name}${near === undefined ? '' : `; probably meant: ${near}`}`,
  )
}
