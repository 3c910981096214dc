import type { Format } from '../options.ts'
import { type Target, urlOf } from './target.ts'

/** Is how a command prints. */
export interface Printing {
  readonly format: Format
}

/** Prints JSON for programs. */
export const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)

/** Says on stderr when it was not the file's word where the gateway is. */
export const noteDoubt = (target: Target): void => {
  if (target.doubt !== null) process.stderr.write(`lender-gateway: ${target.doubt}; asked ${urlOf(target)}\n`)
}
