import type { CommandGroup } from './command.ts'
import { endpointCommands } from './drain-endpoint.ts'
import { idempotencyCommands } from './forget-key.ts'
import { contractCommands } from './learn-contract.ts'
import { cacheCommands } from './purge-cache.ts'
import { reloadCommands } from './reload.ts'
import { rollbackCommands } from './rollback.ts'
import { operationCommands } from './set-operation-state.ts'
import { shiftCommands } from './shift.ts'

/** All commands of operators, in the order in which the admin listener lists its paths. */
export const commandGroups: readonly CommandGroup[] = [
  reloadCommands,
  rollbackCommands,
  endpointCommands,
  operationCommands,
  cacheCommands,
  idempotencyCommands,
  contractCommands,
  shiftCommands,
]

/** The same in the order of the help, where the kill switch stands before the commands about one endpoint. */
export const commandGroupsInHelp: readonly CommandGroup[] = commandGroups
  .filter((group) => group !== endpointCommands)
  .flatMap((group) => (group === operationCommands ? [operationCommands, endpointCommands] : [group]))
