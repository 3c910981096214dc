import type { Group, OperationId } from '../../../operations.ts'
import type { Decoder } from '../../lib/text/decode.ts'
import type { EndpointStatus } from '../../runtime/status/endpoint.ts'
import type { AdminContext } from '../admin-context.ts'
import type { AdminError } from '../admin-error.ts'
import type { Status } from '../api/status.ts'
import type { HtmlValue } from '../html.ts'
import type { Argument, Arguments, RawArguments } from './argument.ts'

/**
 * Commands that share a name on the command line and take the same arguments. The subcommand, the routes, the pages
 * that ask first, their links, the log line and the audit record follow from it. It imports nothing that serves
 * clients: the command line reads it too.
 */
export interface CommandGroup {
  /** `lender-gateway NAME`. */
  readonly name: string
  /** The command that it is a subcommand of: `lender-gateway PARENT NAME`; by default none. */
  readonly parent?: string
  readonly description: string
  /** The first argument, which chooses one of several commands. Null: there is one, which has the name of the group. */
  readonly choice: Pick<Argument, 'usage' | 'help'> | null
  readonly args: Arguments
  /** The paragraph of the help before the one about credentials. */
  readonly help: string | null
  readonly exitCodes: string
  readonly examples: readonly string[]
  /** Whether it only shows how things stand while none of its options is given. */
  readonly showsWithoutOption?: true
  readonly commands: readonly Command[]
}

export interface Order {
  /** The operator's name, or else the address. */
  readonly by: string
  /** Puts what an atomic command has changed into effect. */
  apply(): Promise<void>
  /**
   * Tells why the operator may give it no longer; null: that is not so. For a command that waits for its turn in `run`:
   * an edit may have come first.
   */
  recheck(): AdminError | null
}

/**
 * A command that an operator can run, from a script, the command line or a page. Its methods are declared as methods,
 * which TypeScript compares both ways: the walks over all commands know no command's arguments.
 */
export interface Command<Values extends object = object, Plan extends object = object, Result extends object = object> {
  /** The first argument on the command line: `drain`. */
  readonly choice: string
  /** The name of its page, `/actions/NAME`. Null: it has none. */
  readonly page: string | null
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  /** Parses the query of a script's request; null: the arguments come in a JSON body. */
  readonly query: ((query: string) => RawArguments | AdminError) | null
  /**
   * Says why arguments that are good by themselves are not together; null: they are. The command line asks before it
   * sends anything. `name` writes an argument as the operator does: `to` in JSON, `--to` on the command line.
   */
  validate?(values: Values, name: (argument: string) => string): string | null
  /**
   * Whether it is planned, run and put into effect as one: no edit and no other such command comes between, as its
   * effect may speak against this one.
   */
  readonly isAtomic: boolean
  /**
   * Whether an atomic command, and what is before it, are to wait for no worker that does not answer; by default none
   * is urgent.
   */
  isUrgent?(values: Values): boolean
  /** Plans what it would do, or says what speaks against it. Changes nothing. What its page shows is a preview. */
  plan(context: AdminContext, values: Values): Plan | AdminError | Promise<Plan | AdminError>
  confirmation?(context: AdminContext, plan: Plan): CommandConfirmation | Promise<CommandConfirmation | AdminError>
  /** The result is the JSON response. */
  run(context: AdminContext, plan: Plan, order: Order): Promise<Result | AdminError>
  /** Whether it changes nothing that serves requests. */
  readonly onlyShows?: true
  /** The event in the log and the audit log; null: the change that it starts writes its own. */
  readonly event: string | null
  /** The fields of the event, where they are not those of the result. */
  fields?(result: Result): CommandEventFields
  /** Formats what the next page says after it was run. */
  successText(result: Result): string
  /** Formats what the command line prints after it was run; `given` holds its arguments. */
  cliText(given: Readonly<Record<string, string | undefined>>, result: Result): string
  /**
   * Decodes what `cliText` needs of the response. `outcome`: the result of a reload, which is printed with its changes.
   */
  readonly responseShape: Decoder<object> | 'outcome'
  /** What the command line says of the gateway where it rejects the command: `does not accept it`. */
  readonly rejectedText: string
  /** The codes of errors of a reload or a rollback that the command line prints by their detail alone. */
  readonly plainErrors?: readonly string[]
  readonly links: CommandLinks
}

export type CommandWithPage = Command & Required<Pick<Command, 'confirmation'>> & { readonly page: string }

export type CommandEventFields = Readonly<Record<string, string | number | boolean | null>>

export interface CommandConfirmation {
  /** What will be done: a question of a few words. */
  readonly title: string
  /** What will happen, to what and for how long: paragraphs. */
  readonly what: HtmlValue
  /** For how long, which can be chosen; null: it is not for a time. */
  readonly ttlMs: number | null
  /** The name of the argument that says for how long; `ttl` by default. */
  readonly ttlName?: string
  /** What the form gives beside the arguments of the page. */
  readonly args?: Readonly<Record<string, string>>
  /** Other values of an argument, to be chosen instead. */
  readonly choices?: { readonly name: string; readonly words: string; readonly values: readonly string[] }
  readonly asksReason?: true
  readonly button: string
}

export interface CommandLink {
  readonly query: Readonly<Record<string, string>>
  readonly words: string
  /** What a screen reader says beside the words. */
  readonly about?: string
}

/** The places of the overview that have links, and what each is about. A feature adds its own (`declare module`). */
export interface OverviewPlaces {
  readonly summary: Status['config']
  readonly operation: { readonly id: OperationId; readonly state: 'serve' | 'refuse' }
  readonly endpoint: { readonly group: Group } & Pick<EndpointStatus, 'url' | 'state' | 'weight' | 'orderedBy'>
}

type CommandLinks = {
  readonly [Place in keyof OverviewPlaces]?: (
    about: OverviewPlaces[Place],
  ) => CommandLink | readonly CommandLink[] | null
}
