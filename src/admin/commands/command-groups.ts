import type { CommandGroup } from './command.ts'
import { endpointCommands } from './drain-endpoint.ts'
import { cacheCommands } from './purge-cache.ts'
import { reloadCommands, rollbackCommands } from './reload.ts'
import { operationCommands } from './set-operation-state.ts'

/** All that operators can have done, in the order in which the admin listener lists its paths. */
export const commandGroups: readonly CommandGroup[] = [
  reloadCommands,
  rollbackCommands,
  endpointCommands,
  operationCommands,
  cacheCommands,
]

/** The same in the order of the help, in which the kill switch stands before what concerns one endpoint. */
export const commandGroupsInHelp: readonly CommandGroup[] = commandGroups
  .filter((group) => group !== endpointCommands)
  .flatMap((group) => (group === operationCommands ? [operationCommands, endpointCommands] : [group]))
