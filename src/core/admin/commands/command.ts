import type { Group, OperationId } from '../../../operations.ts'
import type { Decoder } from '../../lib/text/decode.ts'
import type { EndpointStatus } from '../../runtime/status/endpoint.ts'
import type { Status } from '../../runtime/status/status-part.ts'
import type { AdminContext } from '../admin-context.ts'
import type { AdminError } from '../admin-error.ts'
import type { HtmlValue } from '../html.ts'
import type { Argument, Arguments, RawArguments } from './argument.ts'

/**
 * Commands that share a name and arguments. Subcommand, routes, pages, links, log line and audit record follow from it.
 * The command line loads it too, so it imports nothing that serves clients.
 */
export interface CommandGroup {
  /** `lender-gateway PARENT NAME`, or without a parent `lender-gateway NAME`. */
  readonly name: string
  readonly parent?: string
  readonly description: string
  /** Null: the only command has the group's name. */
  readonly choice: Pick<Argument, 'usage' | 'help'> | null
  readonly args: Arguments
  readonly help: string | null
  readonly exitCodes: string
  readonly examples: readonly string[]
  /** Whether it only shows the state while none of its options is given. */
  readonly showsWithoutOption?: true
  readonly commands: readonly Command[]
}

export interface Invocation {
  /** The operator's name, or else the address. */
  readonly by: string
  /** Applies what an atomic command has changed. */
  apply(): Promise<void>
  /** An edit may have removed the operator while the command waited. */
  recheck(): AdminError | null
}

/**
 * Declared as methods, which TypeScript compares bivariantly: code that walks all commands knows no command's
 * arguments.
 */
export interface Command<Values extends object = object, Plan extends object = object, Result extends object = object> {
  /** The first argument on the command line: `drain`. */
  readonly choice: string
  /** `/actions/NAME`. */
  readonly page: string | null
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  /** Null: the arguments come in a JSON body. */
  readonly query: ((query: string) => RawArguments | AdminError) | null
  /** Tells why valid arguments do not fit together. `name`: `to` in JSON, `--to` on the command line. */
  validate?(values: Values, name: (argument: string) => string): string | null
  /** Whether no edit and no other atomic command may come between plan, run and apply. */
  readonly isAtomic: boolean
  /** Whether this and earlier atomic commands stop waiting for silent workers. Default: no. */
  isUrgent?(values: Values): boolean
  /** Changes nothing. */
  plan(context: AdminContext, values: Values): Plan | AdminError | Promise<Plan | AdminError>
  confirmation?(context: AdminContext, plan: Plan): CommandConfirmation | Promise<CommandConfirmation | AdminError>
  /** The result is the JSON response. */
  run(context: AdminContext, plan: Plan, invocation: Invocation): Promise<Result | AdminError>
  readonly onlyShows?: true
  /** Null: the change that it starts logs its own event. */
  readonly event: string | null
  /** Default: the result. */
  fields?(result: Result): CommandEventFields
  successText(result: Result): string
  /** `given` holds the arguments. */
  cliText(given: Readonly<Record<string, string | undefined>>, result: Result): string
  /** `outcome`: the result of a reload, printed with its changes. */
  readonly responseShape: Decoder<object> | 'outcome'
  readonly rejectedText: string
  /** Codes of reload or rollback errors that are printed by their detail alone. */
  readonly plainErrors?: readonly string[]
  readonly links: CommandLinks
}

export type CommandWithPage = Command & Required<Pick<Command, 'confirmation'>> & { readonly page: string }

export type CommandEventFields = Readonly<Record<string, string | number | boolean | null>>

export interface CommandConfirmation {
  readonly title: string
  readonly what: HtmlValue
  readonly ttlMs: number | null // null: not limited in time
  readonly ttlName?: string
  readonly args?: Readonly<Record<string, string>>
  readonly choices?: { readonly name: string; readonly words: string; readonly values: readonly string[] }
  readonly asksReason?: true
  readonly button: string
}

export interface CommandLink {
  readonly query: Readonly<Record<string, string>>
  readonly words: string
  /** For screen readers, after the words. */
  readonly about?: string
}

/** A feature adds its own (`declare module`). */
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
