import { type TakeSupervisor, takeSupervisors } from './runtime/supervisor.ts'

/** What a feature brings. Core calls each member that is there, and knows no feature by its name. */
export interface Feature {
  /** Its folder in `features/`. */
  readonly name: string
  readonly takeSupervisor?: TakeSupervisor
}

/** Hands what features bring to the rooms of core that use it. Called once in a process, before anything else runs. */
export const installFeatures = (features: readonly Feature[]): void => {
  for (const { takeSupervisor } of features) if (takeSupervisor !== undefined) takeSupervisors.push(takeSupervisor)
}
