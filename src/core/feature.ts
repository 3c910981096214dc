import { type AdminPart, adminPartLoaders } from './admin/admin-part.ts'
import type { CommandGroup } from './admin/commands/command.ts'
import { operatorCommandLoaders } from './admin/commands/command-part.ts'
import { type CommandPart, commandPartLoaders } from './cli/built-in-command.ts'
import { type ConfigPart, configPartLoaders } from './config/config-part.ts'
import { type ConfigTransfer, transferLoaders } from './config/transfer-part.ts'
import { type ListenerPart, listenerPartLoaders } from './downstream/listener/listener-part.ts'
import { type PrimaryFeature, primaryPartLoaders } from './runtime/primary-part.ts'
import { type RuntimePart, runtimePartLoaders } from './runtime/runtime-part.ts'
import { type StatusPart, statusPartLoaders } from './runtime/status/status-part.ts'
import { type Supervisor, supervisorLoaders } from './runtime/supervisor.ts'

/** What a feature brings. Core calls each member that is there, and knows no feature by its name. */
export interface Feature {
  /** Its folder in `features/`. */
  readonly name: string
  /** The features that it imports from. Without a circle. */
  readonly needs?: readonly string[]
  /** Loads its commands that change nothing in a running gateway. */
  readonly loadCommands?: () => Promise<CommandPart>
  /** Loads what operators see of it. */
  readonly loadAdminPart?: () => Promise<AdminPart>
  /** Loads its sections of the configuration file, where a file is read. */
  readonly loadConfigPart?: () => Promise<ConfigPart>
  /** Loads what the listener of clients takes. */
  readonly loadListenerPart?: () => Promise<ListenerPart>
  /** Loads what stands in the process that operators speak with. */
  readonly loadPrimaryPart?: () => Promise<PrimaryFeature>
  /** Loads what takes part in exchanges, where they are served. */
  readonly loadRuntimePart?: () => Promise<RuntimePart>
  /** Loads what each process reports of it. */
  readonly loadStatusPart?: () => Promise<StatusPart>
  /** Loads its commands that change what runs. */
  readonly loadOperatorCommands?: () => Promise<{ readonly operatorCommands: readonly CommandGroup[] }>
  /** Loads how its part of a configuration crosses to other threads and processes. */
  readonly loadTransfer?: () => Promise<{ readonly transfer: ConfigTransfer }>
  /**
   * Takes over from the program that supervises this process, before anything is opened. Null: the process does not run
   * under that program. Rejects when what the program hands over is not as agreed.
   */
  readonly takeSupervisor?: () => Promise<Supervisor | null>
}

/** Hands what features bring to the rooms of core that use it. Called in each process before anything else runs. */
export const installFeatures = (features: readonly Feature[]): void => {
  for (const feature of features) {
    const { name } = feature
    commandPartLoaders.add(name, feature.loadCommands)
    adminPartLoaders.add(name, feature.loadAdminPart)
    configPartLoaders.add(name, feature.loadConfigPart)
    listenerPartLoaders.add(name, feature.loadListenerPart)
    operatorCommandLoaders.add(name, feature.loadOperatorCommands)
    primaryPartLoaders.add(name, feature.loadPrimaryPart)
    runtimePartLoaders.add(name, feature.loadRuntimePart)
    statusPartLoaders.add(name, feature.loadStatusPart)
    transferLoaders.add(name, feature.loadTransfer)
    supervisorLoaders.add(name, feature.takeSupervisor)
  }
}
