import * as z from 'zod'
import type { RenderedValue } from '../redact.ts'
import { annotate, renderPlain } from './annotations.ts'

/**
 * Holds text that came from outside the file: an environment variable or a `file:` reference. A class, so that it cannot be taken
 * for text that the file itself shows: whatever meets one in an error prints `shown`, never `text`.
 */
export class ExternalValue {
  readonly text: string
  /** What the configuration file says in its place: `${NAME}`, `file:/run/secrets/risk`. */
  readonly asWritten: string
  /** Whether the scalar was one `${NAME}` and nothing else: it may then stand for a number or a boolean. */
  readonly fromVariable: boolean

  constructor(text: string, asWritten: string, fromVariable: boolean) {
    this.text = text
    this.asWritten = asWritten
    this.fromVariable = fromVariable
  }
}

/** Says what is wrong with a scalar and what to write instead. It never quotes the value: that is done, or not, in one place. */
export class InvalidScalar {
  readonly message: string
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    this.message = message
    this.hint = hint
  }
}

type PlainScalar = string | number | boolean

/** Describes one kind of scalar: what it is called, how it is read, and what an editor's JSON Schema says of it. */
export interface ScalarKind<T> {
  /** What the JSON Schema calls it, where many keys are of this kind: then it is described there once. */
  readonly name?: string
  /** What a problem prints as expected: `a duration such as 2s`. */
  readonly expected: string
  /** Reads a plain scalar. `whole` says that it came from the environment, where everything is a string. */
  readonly parse: (value: PlainScalar, fromVariable: boolean) => T | InvalidScalar
  /** Writes what was read as the file spells it; undefined: not at all. Without it, {@link renderPlain} does. */
  render?(value: T): RenderedValue | undefined
  readonly json: Readonly<Record<string, unknown>>
}

/** Makes the zod schema of a kind of scalar. An issue carries `expected` and `hint` in its `params`. */
export const scalar = <T>(
  { name, expected, parse, render = renderPlain, json }: ScalarKind<T>,
  description: string,
) => {
  const schema = z
    .unknown()
    .transform((input, context): T => {
      const value = input instanceof ExternalValue ? input.text : input
      const wrong = isPlainScalar(value)
        ? parse(value, input instanceof ExternalValue && input.fromVariable)
        : new InvalidScalar('wrong type')
      if (!(wrong instanceof InvalidScalar)) return wrong
      // A hint may be made from the value, which is shown only when it stands in the file.
      const hint = input instanceof ExternalValue ? undefined : wrong.hint
      // `kind: true`: not even a scalar, so a union looks at its other branch.
      const params = { expected, hint, kind: !isPlainScalar(value) }
      context.addIssue({ code: 'custom', message: wrong.message, params })
      return z.NEVER
    })
    .meta({ description, ...(name === undefined ? allowPlaceholder(json) : referenceDefinition(name, json)) })
  return annotate(schema, { render })
}

/** Tells a scalar as the file may write it from lists, maps and what came from elsewhere. */
export const isPlainScalar = (value: unknown): value is PlainScalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/** The kinds that the JSON Schema describes once, by their names. */
export const sharedDefinitions = new Map<string, ScalarKind<unknown>['json']>()

const referenceDefinition = (name: string, json: ScalarKind<unknown>['json']): ScalarKind<unknown>['json'] => {
  sharedDefinitions.set(name, allowPlaceholder(json))
  return { allOf: [{ $ref: `#/definitions/${name}` }] }
}

/** Lets an editor accept `${NAME}` wherever a scalar may stand: it cannot know what the environment will say. */
function allowPlaceholder(json: ScalarKind<unknown>['json']): Readonly<Record<string, unknown>> {
  if (json.type === 'string' && json.pattern === undefined) return json
  return { anyOf: [json, { type: 'string', pattern: '\\$\\{' }] }
}
