import { type AdminPart, adminPartLoaders } from './admin/admin-part.ts'
import { type OperatorCommands, operatorCommandLoaders } from './admin/commands/command-part.ts'
import { type CommandPart, commandPartLoaders, type FileCheck, fileCheckLoaders } from './cli/built-in-command.ts'
import { type ConfigFacts, configFacts } from './config/config-facts.ts'
import { type ConfigPart, configPartLoaders } from './config/config-part.ts'
import { type ConfigTransfer, transferLoaders } from './config/transfer-part.ts'
import { type ListenerPart, listenerPartLoaders } from './downstream/listener/listener-part.ts'
import { type PrimaryFeature, primaryPartLoaders } from './runtime/primary-part.ts'
import { type RuntimePart, runtimePartSources, type SnapshotInput } from './runtime/runtime-part.ts'
import { type StatusPart, statusPartLoaders } from './runtime/status/status-part.ts'
import { type Supervisor, supervisorLoaders } from './runtime/supervisor.ts'

/** Core calls the members that are there, and knows no feature by its name. */
export interface Feature {
  /** The folder in `features/`. */
  readonly name: string
  /** The features that it imports from. Without a circle. */
  readonly needs?: readonly string[]
  readonly facts?: ConfigFacts
  /** The files that features which need it import. */
  readonly face?: readonly string[]
  /** Commands that change nothing in a running gateway. */
  readonly loadCommands?: () => Promise<CommandPart>
  /** Optional checks of `check`. */
  readonly loadFileChecks?: () => Promise<{ readonly fileChecks: readonly FileCheck[] }>
  /** For operators. */
  readonly loadAdminPart?: () => Promise<AdminPart>
  /** Its sections of the configuration file. */
  readonly loadConfigPart?: () => Promise<ConfigPart>
  /** For the client listener. */
  readonly loadListenerPart?: () => Promise<ListenerPart>
  /** For the process that operators speak with. */
  readonly loadPrimaryPart?: () => Promise<PrimaryFeature>
  /** For the processes that serve exchanges. */
  readonly loadRuntimePart?: () => Promise<RuntimePart>
  /** Left out: always. That part is loaded for the first input that uses it, or a feature that runs with it. */
  readonly isUsed?: (input: SnapshotInput) => boolean
  /** Of the features that it needs, those whose part its own part uses, and that may be off. */
  readonly runsWith?: readonly string[]
  /** The report of each process. */
  readonly loadStatusPart?: () => Promise<StatusPart>
  /** Commands that change a running gateway. */
  readonly loadOperatorCommands?: () => Promise<OperatorCommands>
  /** Carries its configuration to other threads and processes. */
  readonly loadTransfer?: () => Promise<{ readonly transfer: ConfigTransfer }>
  /**
   * Called before anything is opened. Null: no such supervisor runs this process. Rejects when the supervisor hands
   * over something unexpected.
   */
  readonly takeSupervisor?: () => Promise<Supervisor | null>
}

/** Called in each process before anything else runs. */
export const installFeatures = (features: readonly Feature[]): void => {
  for (const feature of features) {
    const { name, facts, loadRuntimePart: load, isUsed = null, runsWith = [] } = feature
    if (facts !== undefined) configFacts.set(name, facts)
    commandPartLoaders.add(name, feature.loadCommands)
    fileCheckLoaders.add(name, feature.loadFileChecks)
    adminPartLoaders.add(name, feature.loadAdminPart)
    configPartLoaders.add(name, feature.loadConfigPart)
    listenerPartLoaders.add(name, feature.loadListenerPart)
    operatorCommandLoaders.add(name, feature.loadOperatorCommands)
    primaryPartLoaders.add(name, feature.loadPrimaryPart)
    if (load !== undefined) runtimePartSources.set(name, { load, isUsed, runsWith })
    statusPartLoaders.add(name, feature.loadStatusPart)
    transferLoaders.add(name, feature.loadTransfer)
    supervisorLoaders.add(name, feature.takeSupervisor)
  }
}
