import { adminPartLoaders, type LoadAdminPart } from './admin/admin-part.ts'
import { type LoadOperatorCommands, operatorCommandLoaders } from './admin/commands/command-part.ts'
import { commandLoaders, type LoadCommands } from './cli/built-in-command.ts'
import { configPartLoaders, type LoadConfigPart } from './config/config-part.ts'
import { type LoadTransfer, transferLoaders } from './config/transfer-part.ts'
import { type LoadListenerPart, listenerPartLoaders } from './downstream/listener/listener-part.ts'
import { type LoadPrimaryPart, primaryPartLoaders } from './runtime/primary-part.ts'
import { type LoadRuntimePart, runtimePartLoaders } from './runtime/runtime-part.ts'
import { type LoadStatusPart, statusPartLoaders } from './runtime/status/status-part.ts'
import { type TakeSupervisor, takeSupervisors } from './runtime/supervisor.ts'

/** What a feature brings. Core calls each member that is there, and knows no feature by its name. */
export interface Feature {
  /** Its folder in `features/`. */
  readonly name: string
  /** The features that it imports from. Without a circle. */
  readonly needs?: readonly string[]
  /** Loads its commands that change nothing in a running gateway. */
  readonly loadCommands?: LoadCommands
  /** Loads what operators see of it. */
  readonly loadAdminPart?: LoadAdminPart
  /** Loads its sections of the configuration file, where a file is read. */
  readonly loadConfigPart?: LoadConfigPart
  /** Loads what the listener of clients takes. */
  readonly loadListenerPart?: LoadListenerPart
  /** Loads what stands in the process that operators speak with. */
  readonly loadPrimaryPart?: LoadPrimaryPart
  /** Loads what takes part in exchanges, where they are served. */
  readonly loadRuntimePart?: LoadRuntimePart
  /** Loads what each process reports of it. */
  readonly loadStatusPart?: LoadStatusPart
  /** Loads its commands that change what runs. */
  readonly loadOperatorCommands?: LoadOperatorCommands
  /** Loads how its part of a configuration crosses to other threads and processes. */
  readonly loadTransfer?: LoadTransfer
  readonly takeSupervisor?: TakeSupervisor
}

/** Hands what features bring to the rooms of core that use it. Called in each process before anything else runs. */
export const installFeatures = (features: readonly Feature[]): void => {
  for (const feature of features) {
    if (feature.loadCommands !== undefined) commandLoaders.add(feature.loadCommands)
    if (feature.loadAdminPart !== undefined) adminPartLoaders.add(feature.loadAdminPart)
    if (feature.loadConfigPart !== undefined) configPartLoaders.add(feature.loadConfigPart)
    if (feature.loadListenerPart !== undefined) listenerPartLoaders.add(feature.loadListenerPart)
    if (feature.loadOperatorCommands !== undefined) operatorCommandLoaders.add(feature.loadOperatorCommands)
    if (feature.loadPrimaryPart !== undefined) primaryPartLoaders.set(feature.name, feature.loadPrimaryPart)
    if (feature.loadRuntimePart !== undefined) runtimePartLoaders.set(feature.name, feature.loadRuntimePart)
    if (feature.loadStatusPart !== undefined) statusPartLoaders.add(feature.loadStatusPart)
    if (feature.loadTransfer !== undefined) transferLoaders.add(feature.loadTransfer)
    if (feature.takeSupervisor !== undefined) takeSupervisors.add(feature.takeSupervisor)
  }
}
