import type { Supervisor } from './supervisor.ts'

/** What a feature brings. Core calls each member that is there, and knows no feature by its name. */
export interface Feature {
  /** Its folder in `features/`. */
  readonly name: string
  /**
   * Takes over from the program that supervises this process, before anything is opened. Null: it does not run under
   * that program. Throws when what the program hands over is not as agreed.
   */
  readonly takeSupervisor?: () => Promise<Supervisor | null>
}

let installed: readonly Feature[] = []

/** Installs the features of this process, before anything of core runs. Without a call there are none. */
export const installFeatures = (features: readonly Feature[]): void => {
  installed = features
}

/** Returns the installed features. */
export const installedFeatures = (): readonly Feature[] => installed
