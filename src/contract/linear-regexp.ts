import { RE2JS } from 're2js'

/** A pattern of a schema, run in time that grows with the text alone. */
export interface LinearRegExp {
  test(text: string): boolean
}

/**
 * Compiles a pattern with RE2, which never goes back in its text: a client could otherwise send a text that keeps the
 * gateway busy for hours. Throws for what cannot be run so: lookahead, lookbehind and backreferences.
 */
export const linearRegExp = (pattern: string, _flags: string): LinearRegExp =>
  RE2JS.compile(RE2JS.translateRegExp(pattern), 0)
