import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { allOperations, type Group, type OperationId, operationsById } from '../../../operations.ts'
import type { AdminConfig, Config } from '../../config/config.ts'
import type { FailureKind } from '../../exchange/failures/failure-table.ts'
import { type CommandLine, commandLine, formatCommandLine, programCommand, shellQuote } from '../../lib/program.ts'
import { asList, asNullable, asObject, asText, asWord, type Decoded } from '../../lib/text/decode.ts'
import { formatOptionalTime } from '../../lib/text/format-time.ts'
import { groupByKey } from '../../log/sum-reports.ts'
import type { Reloader } from '../../runtime/reload/reloader.ts'

/**
 * Critical: requests fail, or records are lost. Warning: most requests are served. Notice: nothing needs to be done.
 */
export const severities = ['critical', 'warning', 'notice'] as const

export type Severity = (typeof severities)[number]

interface Named {
  readonly config: Config
  readonly file: { readonly name: string; readonly differing: readonly string[] }
}

export const findingShape = asObject({
  severity: asWord<Severity>(),
  /** `upstreams.risk`, `operations.market.insights`, `config`, `redis`. */
  about: asText,
  /** Null: an earlier version of the gateway. */
  alsoAbout: asNullable(asList(asText)),
  /** One sentence, without a full stop and without text of a client. */
  cause: asText,
  details: asList(asText),
  since: asNullable(asText),
  command: asNullable(asText),
})

export type FindingView = Decoded<typeof findingShape>

/** Data for displays, which do not parse sentences. */
export interface FindingSubject {
  readonly severity: Severity
  readonly about: string
  readonly alsoAbout: readonly string[]
  readonly endpoints: readonly string[]
}

export interface Finding extends FindingSubject {
  readonly code: string
  /** The code of findings that this one explains and replaces. */
  readonly explains: string | null
  /** Groups with the same finding, beside those in the sentence. */
  readonly behind: readonly string[]
  readonly since: number | null
  /** A text is a command of the shell. */
  readonly command: CommandLine | string | null
  readonly facts: object
  readonly say: (facts: never, at: number) => readonly string[]
}

type FindingOptions = Partial<Pick<Finding, 'alsoAbout' | 'endpoints' | 'explains' | 'since' | 'command'>>

export type Found = Finding | readonly Finding[]

export type FoundOrNot = Finding | readonly FoundOrNot[] | false | null | undefined

export const flattenFound = (found: FoundOrNot): readonly Finding[] => {
  if (!found) return []
  return 'code' in found ? [found] : found.flatMap(flattenFound)
}

export const finding = <Facts extends object>(
  code: string,
  severity: Severity,
  about: string,
  facts: Facts & FindingOptions,
  say: (facts: Facts, at: number) => readonly string[],
): Finding => {
  const { alsoAbout = [], endpoints = [], explains = null, since = null, command = null } = facts
  return { code, severity, about, alsoAbout, behind: [], endpoints, explains, since, command, facts, say }
}

export const renderFinding = (
  { severity, about, alsoAbout, behind, since, command, facts, say }: Finding,
  at: number,
  formatCommand: FormatCommand = (command) => formatCommandLine(command),
): FindingView => {
  const [cause = '', ...details] = say(facts as never, at)
  return {
    ...{ severity, about, alsoAbout },
    cause: behind.length === 0 ? cause : `${cause} (the same behind ${behind.join(', ')})`,
    details,
    since: formatOptionalTime(since),
    command: command === null || typeof command === 'string' ? command : formatCommand(command),
  }
}

export const worstFirst = (found: readonly Finding[]): readonly Finding[] =>
  found.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity))

/** Merges findings about several groups whose sentences are equal. */
export const mergeByGroup = (found: readonly Finding[], at: number): readonly Finding[] =>
  groupByKey(found, (each) => `${each.severity} ${renderFinding(each, at).cause}`).map((same) => {
    const [first] = same
    const [, ...alsoAbout] = new Set(same.map(({ about }) => about))
    return { ...first, alsoAbout, behind: alsoAbout.map((about) => about.replace('upstreams.', '')) }
  })

/** Empty: in all workers. */
export const wherePhrase = ({ where }: { readonly where: string | null }): string => (where === null ? '' : ` ${where}`)

export const joinWithAnd = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

export const unknownPlaces = 'where is not known, since the table is full'

export const checkCommandLine = (file: string, ...online: readonly '--online'[]): CommandLine => ({
  words: ['check', ...online, file],
  target: 'none',
})

export const tailCommand = commandLine('tail', '--rejected', '--since', '15m')

export const explainCommandLine = (id: OperationId, { listen: { basePath } }: Pick<Config, 'listen'>): CommandLine => {
  const { method, path } = operationsById[id]
  return commandLine('explain', method, basePath + path, '--live')
}

const connectKinds: ReadonlySet<FailureKind | null> = new Set([
  'connect-failed',
  'connect-timeout',
  'tls-failed',
] as const)

/**
 * `check --online` where no connection was made; else `explain --live`, since `check` sends no request. A kind is null
 * where the endpoint responded.
 */
export const faultCommandLine = (group: Group, kinds: readonly (FailureKind | null)[], inputs: Named): CommandLine =>
  kinds.some((kind) => connectKinds.has(kind)) ? tryCommandLine(group, inputs) : liveCommandLine(group, inputs.config)

/** Not `check` where the file differs from the running configuration: it would try other endpoints. */
export const tryCommandLine = (group: Group, { config, file }: Named): CommandLine =>
  file.differing.length === 0 ? checkCommandLine(file.name, '--online') : liveCommandLine(group, config)

export const liveCommandLine = (group: Group, config: Pick<Config, 'listen'>): CommandLine => {
  const { id } = allOperations.find((each) => each.group === group) as (typeof allOperations)[number]
  return explainCommandLine(id, config)
}

export type FormatCommand = (command: CommandLine) => string

/**
 * Formats commands that run in any folder of this machine: the running program, the file's absolute path and the
 * gateway's address, which the file cannot say if a variable or the system chose the port.
 */
export const createCommandFormatter = (
  { file, statedAdminPort }: Pick<Reloader, 'file' | 'statedAdminPort'>,
  { tls }: AdminConfig,
  { address, family, port }: AddressInfo,
): FormatCommand => {
  const program = programCommand()
  const config = ` --config ${shellQuote(resolve(file))}`
  const host = /^(0\.0\.0\.0|::)$/.test(address) ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  const toGateway = statedAdminPort === port ? '' : ` --admin ${tls === null ? 'http' : 'https'}://${host}:${port}`
  const tails = { none: '', file: toGateway, config: config + toGateway }
  return (command) => formatCommandLine(command, program) + tails[command.target]
}
