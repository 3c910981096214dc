import { nullable, number, shape, text } from './shape.ts'

/** Is how it stands with the log. */
export interface LogStatus {
  readonly dropped: number
  /** Null: the gateway is older than that. */
  readonly level: string | null
  /** Until when an operator has it so; null: the file does. */
  readonly until: string | null
}

/** Reads it. */
export const log = shape<LogStatus>({ dropped: number, level: nullable(text), until: nullable(text) })
