import { list, nullable, shape, text } from './shape.ts'

/** Is something that is wrong, with its cause in words. */
export interface Finding {
  readonly severity: string
  readonly about: string
  readonly cause: string
  /** Null: an older gateway has none. */
  readonly details: readonly string[] | null
  readonly since: string | null
  readonly command: string | null
}

/** Reads what `/status` says is wrong. */
export const findings = list(
  shape<Finding>({
    severity: text,
    about: text,
    cause: text,
    details: nullable(list(text)),
    since: nullable(text),
    command: nullable(text),
  }),
)
