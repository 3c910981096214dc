import * as z from 'zod'
import type { RenderedValue } from './annotations.ts'
import { annotate, renderPlain } from './annotations.ts'

/**
 * Text from outside the file: an environment variable or a `file:` reference. A class, so that it cannot be taken for
 * text that the file itself shows: errors print `asWritten`, never `text`.
 */
export class ExternalValue {
  readonly text: string
  /** The text of the configuration file in its place: `${NAME}`, `file:/run/secrets/risk`. */
  readonly asWritten: string
  /** Whether the scalar was one `${NAME}` and nothing else: it may then stand for a number or a boolean. */
  readonly fromVariable: boolean

  constructor(text: string, asWritten: string, fromVariable: boolean) {
    this.text = text
    this.asWritten = asWritten
    this.fromVariable = fromVariable
  }
}

/** What is wrong with a scalar, and a hint. It never quotes the value: only `load/issues.ts` decides on that. */
export class InvalidScalar {
  readonly message: string
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    this.message = message
    this.hint = hint
  }
}

type PlainScalar = string | number | boolean

export interface ScalarKind<T> {
  /** The name of its definition in the JSON Schema, where many keys share it. */
  readonly name?: string
  /** The text that a problem prints as expected: `a duration such as 2s`. */
  readonly expected: string
  /** Parses a plain scalar. `fromVariable`: it came from the environment, where everything is a string. */
  readonly parse: (value: PlainScalar, fromVariable: boolean) => T | InvalidScalar
  /** Renders a value as the file spells it; undefined: its key is left out. The default is {@link renderPlain}. */
  render?(value: T): RenderedValue | undefined
  readonly json: Readonly<Record<string, unknown>>
}

/** Makes the parser of a kind that is always text. What would be right as text is to be put in quotes. */
export const textParser =
  <T>(parse: (text: string) => T | InvalidScalar): ScalarKind<T>['parse'] =>
  (value) => {
    if (typeof value === 'string') return parse(value)
    const isRightAsText = !(parse(String(value)) instanceof InvalidScalar)
    return new InvalidScalar('wrong type', isRightAsText ? 'put it in quotes' : undefined)
  }

/** Makes the parser of a kind that takes nearly any text: a value of another type is to be put in quotes. */
export const freeTextParser =
  <T>(parse: (text: string) => T | InvalidScalar): ScalarKind<T>['parse'] =>
  (value) =>
    typeof value === 'string' ? parse(value) : new InvalidScalar('not text', 'put it in quotes')

/** Makes a kind whose values are those of another, changed or rejected. */
export const refineKind = <T>(kind: ScalarKind<T>, refine: (value: T) => T | InvalidScalar): ScalarKind<T> => ({
  ...kind,
  parse(value, fromVariable) {
    const parsed = kind.parse(value, fromVariable)
    return parsed instanceof InvalidScalar ? parsed : refine(parsed)
  },
})

/** Makes a kind of text that one pattern describes, for the gateway and for editors. `fault`: what other text is. */
export const patternKind = (expected: string, pattern: string, fault: string, hint?: string): ScalarKind<string> => {
  const whole = new RegExp(pattern)
  return {
    expected,
    parse: textParser((value) => (whole.test(value) ? value : new InvalidScalar(fault, hint))),
    json: { type: 'string', pattern },
  }
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
      const parsed = isPlainScalar(value)
        ? parse(value, input instanceof ExternalValue && input.fromVariable)
        : new InvalidScalar('wrong type')
      if (!(parsed instanceof InvalidScalar)) return parsed
      // A hint may be made from the value, which is shown only when it stands in the file.
      const hint = input instanceof ExternalValue ? undefined : parsed.hint
      // `kind: true`: not a scalar at all, so the issue is taken from another branch of a union.
      const params = { expected, hint, kind: !isPlainScalar(value) }
      context.addIssue({ code: 'custom', message: parsed.message, params })
      return z.NEVER
    })
    .meta({ description, ...(name === undefined ? allowPlaceholder(json) : referenceDefinition(name, json)) })
  return annotate(schema, { render })
}

const isPlainScalar = (value: unknown): value is PlainScalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

export const sharedDefinitions = new Map<string, ScalarKind<unknown>['json']>()

const referenceDefinition = (name: string, json: ScalarKind<unknown>['json']): ScalarKind<unknown>['json'] => {
  sharedDefinitions.set(name, allowPlaceholder(json))
  return { allOf: [{ $ref: `#/definitions/${name}` }] }
}

/** Lets an editor accept `${NAME}` wherever a scalar may stand: it does not know the environment. */
function allowPlaceholder(json: ScalarKind<unknown>['json']): Readonly<Record<string, unknown>> {
  if (json.type === 'string' && json.pattern === undefined) return json
  return { anyOf: [json, { type: 'string', pattern: '\\$\\{' }] }
}
