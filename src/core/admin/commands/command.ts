import type { Group, OperationId } from '../../../operations.ts'
import type { Decoder } from '../../lib/text/decode.ts'
import type { EndpointStatus } from '../../runtime/status/endpoint.ts'
import type { Status } from '../../runtime/status/status-part.ts'
import type { AdminContext } from '../admin-context.ts'
import type { AdminError } from '../admin-error.ts'
import type { HtmlValue } from '../html.ts'
import type { Argument, Arguments, RawArguments } from './argument.ts'

/**
 * Commands that share a name and arguments. Subcommand, routes, pages, log line and audit record follow from it. The
 * command line loads it, so it imports nothing that serves clients.
 */
export interface CommandGroup {
  readonly name: string
  readonly parent?: string
  readonly description: string
  /** Null: the only command has the group's name. */
  readonly choice: Pick<Argument, 'usage' | 'help'> | null
  readonly args: Arguments
  readonly help: string | null
  readonly exitCodes: string
  readonly examples: readonly string[]
  /** Without one of its options, it only shows the state. */
  readonly showsWithoutOption?: true
  readonly commands: readonly Command[]
}

export interface Invocation {
  /** The operator's name or address. */
  readonly by: string
  apply(): Promise<void>
  /** Null: still authorized. An edit may have removed the operator while the command waited. */
  recheck(): AdminError | null
}

/** Methods are compared bivariantly, so code that walks all commands need not know their arguments. */
export interface Command<Values extends object = object, Plan extends object = object, Result extends object = object> {
  /** The first argument on the command line: `drain`. */
  readonly choice: string
  /** `/actions/NAME`. */
  readonly page: string | null
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  /** Null: the arguments come in a JSON body. */
  readonly query: ((query: string) => RawArguments | AdminError) | null
  /** Returns why valid arguments contradict each other. `name`: `to` in JSON, `--to` on the command line. */
  validate?(values: Values, name: (argument: string) => string): string | null
  /** No edit and no other atomic command may come between plan, run and apply. */
  readonly isAtomic: boolean
  /** This and earlier atomic commands stop waiting for silent workers. */
  isUrgent?(values: Values): boolean
  /** Changes nothing. */
  plan(context: AdminContext, values: Values): Plan | AdminError | Promise<Plan | AdminError>
  confirmation?(context: AdminContext, plan: Plan): CommandConfirmation | Promise<CommandConfirmation | AdminError>
  run(context: AdminContext, plan: Plan, invocation: Invocation): Promise<Result | AdminError>
  readonly onlyShows?: true
  /** Null: the reload logs its own event. */
  readonly event: string | null
  fields?(result: Result): CommandEventFields
  successText(result: Result): string
  cliText(given: Readonly<Record<string, string | undefined>>, result: Result): string
  /** `outcome`: a reload, printed with its changes. */
  readonly responseShape: Decoder<object> | 'outcome'
  readonly rejectedText: string
  /** Codes of errors that are printed by their detail alone. */
  readonly plainErrors?: readonly string[]
  readonly links: CommandLinks
}

export type CommandWithPage = Command & Required<Pick<Command, 'confirmation'>> & { readonly page: string }

export type CommandEventFields = Readonly<Record<string, string | number | boolean | null>>

export interface CommandConfirmation {
  readonly title: string
  readonly what: HtmlValue
  readonly ttlMs: number | null // null: no limit
  readonly ttlName?: string
  readonly args?: Readonly<Record<string, string>>
  readonly choices?: { readonly name: string; readonly words: string; readonly values: readonly string[] }
  readonly asksReason?: true
  readonly button: string
}

export interface CommandLink {
  readonly query: Readonly<Record<string, string>>
  readonly words: string
  /** Text for screen readers alone. */
  readonly about?: string
}

/** Features add members (`declare module`). */
export interface OverviewPlaces {
  readonly summary: Status['config']
  readonly operation: { readonly id: OperationId; readonly state: 'serve' | 'reject' }
  readonly endpoint: { readonly group: Group } & Pick<EndpointStatus, 'url' | 'state' | 'weight' | 'setBy'>
}

type CommandLinks = {
  readonly [Place in keyof OverviewPlaces]?: (
    about: OverviewPlaces[Place],
  ) => CommandLink | readonly CommandLink[] | null
}
