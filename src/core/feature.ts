import { adminPartLoaders, type LoadAdminPart } from './admin/admin-part.ts'
import { type LoadOperatorCommands, operatorCommandLoaders } from './admin/commands/command-part.ts'
import { commandLoaders, type LoadCommands } from './cli/built-in-command.ts'
import { configPartLoaders, type LoadConfigPart } from './config/config-part.ts'
import { type LoadListenerPart, listenerPartLoaders } from './downstream/listener/listener-part.ts'
import { type LoadRuntimePart, runtimePartLoaders } from './runtime/runtime-part.ts'
import { type TakeSupervisor, takeSupervisors } from './runtime/supervisor.ts'

/** What a feature brings. Core calls each member that is there, and knows no feature by its name. */
export interface Feature {
  /** Its folder in `features/`. */
  readonly name: string
  /** The features that it imports from. */
  readonly needs?: readonly string[]
  /** Loads its commands that change nothing in a running gateway. */
  readonly loadCommands?: LoadCommands
  /** Loads what operators see of it. */
  readonly loadAdminPart?: LoadAdminPart
  /** Loads its sections of the configuration file, where a file is read. */
  readonly loadConfigPart?: LoadConfigPart
  /** Loads what the listener of clients takes. */
  readonly loadListenerPart?: LoadListenerPart
  /** Loads what takes part in exchanges, where they are served. */
  readonly loadRuntimePart?: LoadRuntimePart
  /** Loads its commands that change what runs. */
  readonly loadOperatorCommands?: LoadOperatorCommands
  readonly takeSupervisor?: TakeSupervisor
}

/** Hands what features bring to the rooms of core that use it. Called in each process before anything else runs. */
export const installFeatures = (features: readonly Feature[]): void => {
  for (const feature of features) {
    const { loadAdminPart, loadCommands, loadConfigPart, loadListenerPart, loadOperatorCommands } = feature
    const { loadRuntimePart, takeSupervisor } = feature
    if (loadCommands !== undefined) commandLoaders.add(loadCommands)
    if (loadAdminPart !== undefined) adminPartLoaders.add(loadAdminPart)
    if (loadConfigPart !== undefined) configPartLoaders.add(loadConfigPart)
    if (loadListenerPart !== undefined) listenerPartLoaders.add(loadListenerPart)
    if (loadOperatorCommands !== undefined) operatorCommandLoaders.add(loadOperatorCommands)
    if (loadRuntimePart !== undefined) runtimePartLoaders.add(loadRuntimePart)
    if (takeSupervisor !== undefined) takeSupervisors.add(takeSupervisor)
  }
}
