import { version } from '../../version.ts'
import type { Format } from '../options.ts'
import { type Target, urlOf } from './target.ts'

/** Is how a command prints. */
export interface Printing {
  readonly format: Format
}

/** Prints JSON for programs. */
export const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)

/** Says on stderr when it was not the file's word where the gateway is, and when that is of another version. */
export const noteDoubt = (target: Target, gateway: string = version()): void => {
  if (target.doubt !== null) process.stderr.write(`lender-gateway: ${target.doubt}; asked ${urlOf(target)}\n`)
  if (gateway !== version()) process.stderr.write(`lender-gateway: ${urlOf(target)} is ${otherVersion(gateway)}\n`)
}

/** Says what to do about a gateway of another version. */
export const otherVersion = (gateway: string): string =>
  `version ${gateway}, this command is version ${version()}: use the same version`
