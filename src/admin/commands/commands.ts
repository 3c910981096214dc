import { cache } from './cache.ts'
import type { CommandGroup } from './command.ts'
import { endpoint } from './endpoint.ts'
import { operation } from './operation.ts'
import { reload, rollback } from './reload.ts'

/** All that operators can have done, in the order in which the admin listener lists its paths. */
export const commandGroups: readonly CommandGroup[] = [reload, rollback, endpoint, operation, cache]

/** The same in the order of the help, in which the kill switch stands before what concerns one endpoint. */
export const groupsInHelp: readonly CommandGroup[] = commandGroups
  .filter((group) => group !== endpoint)
  .flatMap((group) => (group === operation ? [operation, endpoint] : [group]))
