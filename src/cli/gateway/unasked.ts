import { printable } from '../../shared/printable.ts'

/** Says, in one line, why a gateway could not be asked or did not answer as one: exit code 2. */
export class Unasked extends Error {}

/** Makes an error that says why a gateway could not be asked. */
export const unasked = (message: string): Unasked => new Unasked(printable(message))
