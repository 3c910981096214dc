import type { RenderedValue, SchemaAnnotations } from './annotations.ts'

/** The text of a variable or a `file:` reference. A class, so that problems print `asWritten` and never `text`. */
export class ExternalValue {
  readonly text: string
  /** As in the configuration file: `${NAME}`, `file:/run/secrets/risk`. */
  readonly asWritten: string
  /** The whole scalar was `${NAME}`, so it may stand for a number or a boolean. */
  readonly fromVariable: boolean

  constructor(text: string, asWritten: string, fromVariable: boolean) {
    this.text = text
    this.asWritten = asWritten
    this.fromVariable = fromVariable
  }
}

export class InvalidScalar {
  readonly message: string
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    this.message = message
    this.hint = hint
  }
}

type PlainScalar = string | number | boolean

export interface ScalarKind<T> extends Omit<SchemaAnnotations, 'render' | 'redundantKeys'> {
  readonly name?: string
  readonly expected: string
  /** `fromVariable`: the value comes from the environment, where a number is text. */
  readonly parse: (value: PlainScalar, fromVariable: boolean) => T | InvalidScalar
  /** Renders a value as the file spells it; undefined: the key is not rendered. Default: {@link renderPlain}. */
  render?(value: T): RenderedValue | undefined
  readonly json: Readonly<Record<string, unknown>>
}

export const textParser =
  <T>(parse: (text: string) => T | InvalidScalar): ScalarKind<T>['parse'] =>
  (value) => {
    if (typeof value === 'string') return parse(value)
    const isRightAsText = !(parse(String(value)) instanceof InvalidScalar)
    return new InvalidScalar('wrong type', isRightAsText ? 'put it in quotes' : undefined)
  }

export const freeTextParser =
  <T>(parse: (text: string) => T | InvalidScalar): ScalarKind<T>['parse'] =>
  (value) =>
    typeof value === 'string' ? parse(value) : new InvalidScalar('not text', 'put it in quotes')

export const refineKind = <T>(kind: ScalarKind<T>, refine: (value: T) => T | InvalidScalar): ScalarKind<T> => ({
  ...kind,
  parse(value, fromVariable) {
    const parsed = kind.parse(value, fromVariable)
    return parsed instanceof InvalidScalar ? parsed : refine(parsed)
  },
})

/** `fault`: the message for text that does not match. */
export const patternKind = (expected: string, pattern: string, fault: string, hint?: string): ScalarKind<string> => {
  const whole = new RegExp(pattern)
  const parse = textParser((value) => (whole.test(value) ? value : new InvalidScalar(fault, hint)))
  return { expected, parse, json: { type: 'string', pattern } }
}

export const parseScalar = <T>({ parse }: ScalarKind<T>, input: unknown): T | InvalidScalar => {
  const value = input instanceof ExternalValue ? input.text : input
  return isPlainScalar(value)
    ? parse(value, input instanceof ExternalValue && input.fromVariable)
    : new InvalidScalar('wrong type')
}

export const isPlainScalar = (value: unknown): value is PlainScalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
