import * as z from 'zod'
import type { Effective } from '../shown.ts'
import { mark, plain } from './facts.ts'

/**
 * Holds text that came from outside the file: an environment variable or a `file:` reference. A class, so that it cannot be taken
 * for text that the file itself shows: whatever meets one in an error prints `shown`, never `text`.
 */
export class External {
  readonly text: string
  /** What the configuration file says in its place: `${NAME}`, `file:/run/secrets/risk`. */
  readonly shown: string
  /** Whether the scalar was one `${NAME}` and nothing else: it may then stand for a number or a boolean. */
  readonly whole: boolean

  constructor(text: string, shown: string, whole: boolean) {
    this.text = text
    this.shown = shown
    this.whole = whole
  }
}

/** Says what is wrong with a scalar and what to write instead. It never quotes the value: that is done, or not, in one place. */
export class Wrong {
  readonly message: string
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    this.message = message
    this.hint = hint
  }
}

type Plain = string | number | boolean

/** Describes one kind of scalar: what it is called, how it is read, and what an editor's JSON Schema says of it. */
export interface Kind<T> {
  /** What the JSON Schema calls it, where many keys are of this kind: then it is described there once. */
  readonly name?: string
  /** What a problem prints as expected: `a duration such as 2s`. */
  readonly expected: string
  /** Reads a plain scalar. `whole` says that it came from the environment, where everything is a string. */
  readonly read: (value: Plain, whole: boolean) => T | Wrong
  /** Writes what was read as the file spells it; undefined: not at all. Without it, {@link plain} does. */
  write?(value: T): Effective | undefined
  readonly json: Readonly<Record<string, unknown>>
}

/** Makes the zod schema of a kind of scalar. An issue carries `expected` and `hint` in its `params`. */
export const scalar = <T>({ name, expected, read, write = plain, json }: Kind<T>, description: string) => {
  const schema = z
    .unknown()
    .transform((input, context): T => {
      const value = input instanceof External ? input.text : input
      const wrong = isPlain(value) ? read(value, input instanceof External && input.whole) : new Wrong('wrong type')
      if (!(wrong instanceof Wrong)) return wrong
      // A hint may be made from the value, which is shown only when it stands in the file.
      const hint = input instanceof External ? undefined : wrong.hint
      // `kind: true`: not even a scalar, so a union looks at its other branch.
      const params = { expected, hint, kind: !isPlain(value) }
      context.addIssue({ code: 'custom', message: wrong.message, params })
      return z.NEVER
    })
    .meta({ description, ...(name === undefined ? withPlaceholder(json) : shared(name, json)) })
  return mark(schema, { write })
}

/** Tells a scalar as the file may write it from lists, maps and what came from elsewhere. */
export const isPlain = (value: unknown): value is Plain =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/** The kinds that the JSON Schema describes once, by their names. */
export const sharedKinds = new Map<string, Kind<unknown>['json']>()

const shared = (name: string, json: Kind<unknown>['json']): Kind<unknown>['json'] => {
  sharedKinds.set(name, withPlaceholder(json))
  return { allOf: [{ $ref: `#/definitions/${name}` }] }
}

/** Lets an editor accept `${NAME}` wherever a scalar may stand: it cannot know what the environment will say. */
function withPlaceholder(json: Kind<unknown>['json']): Readonly<Record<string, unknown>> {
  if (json.type === 'string' && json.pattern === undefined) return json
  return { anyOf: [json, { type: 'string', pattern: '\\$\\{' }] }
}
