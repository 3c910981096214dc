import type { Config } from '../../config/config.ts'
import { parseJsonObject } from '../../lib/plain-object.ts'
import type { AdminError } from '../admin-error.ts'

/** One argument on the command line, in JSON, in a query and in a page's form. */
export interface Argument<Value = unknown> {
  /** `<GROUP>`, `[OPERATION]`, or `--client <ID>` for the argument `client`. */
  readonly usage: string
  readonly help: string
  readonly expected: string
  readonly choices?: readonly string[]
  readonly default?: string
  /** For the error about a JSON body that cannot be parsed. */
  readonly example?: string
  readonly only?: 'script' | 'form'
  readonly isRequired?: true
  /** Undefined: invalid. */
  read(value: unknown): Value | undefined
}

export type Arguments = Readonly<Record<string, Argument>>

export type ValuesOf<Args extends Arguments> = {
  readonly [Name in keyof Args]: Args[Name] extends Argument<infer Value> ? Value : never
}

export const maxReasonLength = 200

export type RawArguments = Readonly<Record<string, unknown>>

type ArgumentInfo = Pick<Argument, 'usage' | 'help' | 'default' | 'example' | 'only' | 'isRequired'>

export const choiceArgument = <Choice extends string>(
  choices: readonly Choice[],
  info: ArgumentInfo,
): Argument<Choice> => ({
  ...info,
  choices,
  expected: `one of ${choices.join(', ')}`,
  read: (value) => choices.find((each) => each === value),
})

export const textArgument = (info: ArgumentInfo): Argument<string> => ({
  ...info,
  expected: 'text',
  read: (value) => (typeof value === 'string' ? value : ''),
})

export const optionalArgument = <Value>(argument: Argument<Value>): Argument<Value | null> => ({
  ...argument,
  read: (value) => (value === undefined ? null : argument.read(value)),
})

export const reasonArgument: Argument<string | null> = {
  usage: '--reason <TEXT>',
  help: 'why, for the log and for other operators',
  expected: `text of at most ${maxReasonLength} characters, in one line`,
  read: (value) => {
    if (value === undefined) return null
    const isText = typeof value === 'string' && value.length <= maxReasonLength
    return isText && !/[\p{Cc}\p{Bidi_Control}]/u.test(value) ? value.trim() || null : undefined
  },
}

export const flagArgument = (
  usage: `--${string}`,
  help: string,
  expected = 'true, or to be left out',
): Argument<boolean> => ({
  usage,
  help,
  expected,
  // `true` in JSON, a word in a query or a form.
  read: (value) => (value === undefined ? false : value === true || value === 'true' || undefined),
})

export const parseArguments = (args: Arguments, raw: RawArguments): object | AdminError => {
  const values = Object.entries(args).map(([name, argument]) => [name, argument.read(raw[name])] as const)
  const [wrong] = values.find(([, value]) => value === undefined) ?? []
  return wrong === undefined
    ? Object.fromEntries(values)
    : badRequest(`${wrong} is expected to be ${args[wrong]?.expected ?? ''}`)
}

export const parseJsonBody = (args: Arguments, body: unknown): RawArguments | AdminError => {
  const shown = Object.fromEntries(Object.entries(args).map(([name, { example }]) => [name, example]))
  const raw = typeof body === 'string' ? parseJsonObject(body) : null
  if (raw === null) return badRequest(`a JSON object is expected, such as ${JSON.stringify(shown)}`)
  const keys = Object.keys(args)
  const unknown = Object.keys(raw).find((key) => !keys.includes(key))
  return unknown === undefined
    ? raw
    : badRequest(`${quoted(unknown)} is not known; write ${keys.slice(0, -1).join(', ')} and ${keys.at(-1)}`)
}

export const parseFields = (
  names: readonly string[],
  fields: URLSearchParams,
  expected: string,
): RawArguments | AdminError => {
  const wrong = [...fields.keys()].find((key) => !names.includes(key) || fields.getAll(key).length > 1)
  return wrong === undefined ? Object.fromEntries(fields) : badRequest(`${quoted(wrong)} is not expected${expected}`)
}

/** `--to` or `<GROUP>`. */
export const usageName = ({ usage }: Pick<Argument, 'usage'>): string => usage.replace(/ .*$/, '')

export const badRequest = (detail: string): AdminError => ({ status: 400, code: 'bad-request', detail })

const quoted = (key: string): string => JSON.stringify(key.slice(0, 60))

export const rejectUnknownClient = async (name: string, config: Config): Promise<AdminError | null> => {
  // Loaded late: the command line loads this module too, and needs neither.
  const [{ listClientNames }, { suggestNearest }] = await Promise.all([
    import('../../config/config-facts.ts'),
    import('../../config/suggest.ts'),
  ])
  const known = listClientNames(config)
  if (known.includes(name)) return null
  const near = suggestNearest(name, known)
  return badRequest(
    `client: none under clients is named ${name}${near === undefined ? '' : `; probably meant: ${near}`}`,
  )
}
