import type { Config } from '../config/config.ts'
import type { Said } from './overrides.ts'

/** Is all that a snapshot is built from. */
export interface State {
  readonly config: Config
  /** What operators have said beside it. */
  readonly said: Said
  /** Where the embedded upstream listens; null: nothing uses it. */
  readonly sandboxOrigin: string | null
}
