import type { Group, OperationId } from '../../operations.ts'
import type { Decoder } from '../../shared/decode.ts'
import type { AdminContext } from '../admin-context.ts'
import type { AdminError } from '../admin-error.ts'
import type { Status } from '../api/status.ts'
import type { HtmlValue } from '../page/html.ts'
import type { Argument, Arguments, RawArguments } from './argument.ts'

/**
 * Commands that share a name on the command line and take the same arguments. From it follow the subcommand, the
 * routes, the pages that ask first, their links, the line of the log and the record. It loads nothing that serves
 * clients: the command line reads it too.
 */
export interface CommandGroup {
  /** `lender-gateway NAME`. */
  readonly name: string
  readonly description: string
  /** The first argument, which chooses one of several commands; null: there is one, which has the name of the group. */
  readonly choice: Pick<Argument, 'usage' | 'help'> | null
  readonly args: Arguments
  /** The paragraph of the help before who may ask. */
  readonly help: string | null
  readonly exitCodes: string
  readonly examples: readonly string[]
  readonly commands: readonly Command[]
}

/**
 * What an operator can have done, by a script, the command line or a page. Its methods are declared as methods, which
 * TypeScript compares both ways: the walks over all commands know no one’s arguments.
 */
export interface Command<Values extends object = object, Plan extends object = object, Result extends object = object> {
  /** The first argument on the command line: `drain`. */
  readonly choice: string
  /** The name of its page, `/actions/NAME`. */
  readonly page: string
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  /** Reads what a script says in the query; null: it says it as a JSON body. */
  readonly query: ((query: string) => RawArguments | AdminError) | null
  /** Whether it waits for the one before: what that one does may speak against it. */
  readonly isSerialized: boolean
  /** Finds what it would do, or what speaks against it. Does nothing. */
  plan(context: AdminContext, values: Values): Plan | AdminError | Promise<Plan | AdminError>
  /** What the page asks before it is done. */
  confirmation(context: AdminContext, plan: Plan): CommandConfirmation | Promise<CommandConfirmation | AdminError>
  /** Does it. The result is the JSON answer. */
  run(context: AdminContext, plan: Plan): Promise<Result | AdminError>
  /** The line of the log, and the record; null: what it sets off writes its own. */
  readonly event: string | null
  /** The fields of both, where they are not those of the result. */
  fields?(result: Result): CommandEventFields
  /** What the next page says once it is done. */
  successText(result: Result): string
  /** What the command line prints once it is done; `given` is what it was given. */
  cliText(given: Readonly<Record<string, string | undefined>>, result: Result): string
  /** Reads of the answer what `printed` needs; `outcome`: what came of a reload, which is printed with its changes. */
  readonly responseShape: Decoder<object> | 'outcome'
  /** What the command line says of the gateway where it refuses: `does not accept it`. */
  readonly rejectedText: string
  /** What the command line prints in place of a refusal, by its code. */
  readonly errorTexts?: ReadonlyMap<string, string>
  /** Where the overview has a link to its page. */
  readonly links: CommandLinks
}

/** What a line of the log, and the record, says beside the event. */
export type CommandEventFields = Readonly<Record<string, string | number | boolean | null>>

/** What a person is asked before a command is run. */
export interface CommandConfirmation {
  /** What will be done: a question of a few words. */
  readonly title: string
  /** What will happen, to what and for how long: paragraphs. */
  readonly what: HtmlValue
  /** For how long, which can be chosen; null: it is not for a time. */
  readonly ttlMs: number | null
  readonly button: string
}

/** A link to the page of a command. */
export interface CommandLink {
  readonly query: Readonly<Record<string, string>>
  readonly words: string
  /** What a screen reader says beside the words. */
  readonly about?: string
}

/** The places of the overview that have links, and what each is about. */
export interface OverviewPlaces {
  readonly summary: Status['config']
  readonly operation: { readonly id: OperationId; readonly state: 'serve' | 'refuse' }
  readonly endpoint: { readonly group: Group; readonly url: string; readonly state: string }
  readonly cache: NonNullable<Status['cache']>
  /** The id of a cached operation. */
  readonly cached: string
}

type CommandLinks = { readonly [Place in keyof OverviewPlaces]?: (about: OverviewPlaces[Place]) => CommandLink | null }
