import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { allOperations, type Group, type OperationId, operationsById } from '../../../operations.ts'
import type { AdminConfig, Config } from '../../config/config.ts'
import type { FailureKind } from '../../exchange/failures/kinds.ts'
import { type CommandLine, commandLine, formatCommandLine, programCommand, shellQuote } from '../../lib/program.ts'
import { asList, asNullable, asObject, asText, asWord, type Decoded } from '../../lib/text/decode.ts'
import { formatOptionalTime } from '../../lib/text/format-time.ts'
import { groupByKey } from '../../log/sum-reports.ts'
import type { Reloader } from '../../runtime/reload/reloader.ts'
import type { FindingInputs } from './finding-inputs.ts'

/** How bad findings are, the worst first. */
export const severities = ['critical', 'warning', 'notice'] as const

/**
 * Critical: requests fail, or records are lost. Warning: something is wrong, but most requests are served. Notice:
 * worth knowing.
 */
export type Severity = (typeof severities)[number]

export const findingShape = asObject({
  severity: asWord<Severity>(),
  /** Its subject: `upstreams.risk`, `operations.market.insights`, `config`, `redis`. */
  about: asText,
  /** Of what else it is true: other groups, with the same endpoint. Null: an earlier version of the gateway. */
  alsoAbout: asNullable(asList(asText)),
  /** One sentence, without a full stop. Nothing in it is what a client wrote. */
  cause: asText,
  /**
   * Its parts, a line each: the endpoints of a group that does not serve, for example. Empty: the cause says it all.
   */
  details: asList(asText),
  /** RFC 3339; null: unknown. */
  since: asNullable(asText),
  /** The command that shows more; null: there is nothing more to show. */
  command: asNullable(asText),
})

/** A finding as `/status` sends it. */
export type FindingView = Decoded<typeof findingShape>

/** How bad a finding is, and what it is about: what shows the state of a thing reads this, and never a sentence. */
export interface FindingSubject {
  readonly severity: Severity
  readonly about: string
  readonly alsoAbout: readonly string[]
  /** The URLs of the endpoints that it names. */
  readonly endpoints: readonly string[]
}

/** Something that is wrong, as data. */
export interface Finding extends FindingSubject {
  /** What is wrong, in a word of the code: `breaker-not-closed`. */
  readonly code: string
  /** The code of findings that it makes superfluous, since it says why. Null: none. */
  readonly explains: string | null
  /** Other groups of which it is true, and which its sentence does not name by itself. */
  readonly behind: readonly string[]
  /** In ms since the epoch; null: unknown. */
  readonly since: number | null
  /** Text: a command of the shell. */
  readonly command: CommandLine | string | null
  /** What its sentence says: names, numbers, times. */
  readonly facts: object
  /** Says it in words, at the time `at`: the cause, and the details behind it. */
  readonly say: (facts: never, at: number) => readonly string[]
}

type FindingOptions = Partial<Pick<Finding, 'alsoAbout' | 'endpoints' | 'explains' | 'since' | 'command'>>

/** Finds what is wrong, for one feature or one part of the gateway. */
export type FindingSource = (inputs: FindingInputs) => Found

/** One finding, or several, or none. */
export type Found = Finding | readonly Finding[]

/** Creates a finding from its facts. `say` says them in words. */
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

/** Renders a finding: the one place where its sentence is made. */
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

/** Sorts by severity; findings of the same severity keep their order. */
export const worstFirst = (found: readonly Finding[]): readonly Finding[] =>
  found.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity))

/** Merges findings about several groups (`upstreams.GROUP`) that read the same into one. */
export const mergeByGroup = (found: readonly Finding[], at: number): readonly Finding[] =>
  groupByKey(found, (each) => `${each.severity} ${renderFinding(each, at).cause}`).map((same) => {
    const [first] = same
    const [, ...alsoAbout] = new Set(same.map(({ about }) => about))
    return { ...first, alsoAbout, behind: alsoAbout.map((about) => about.replace('upstreams.', '')) }
  })

/** Formats in which of several workers it is so; empty: in all. */
export const wherePhrase = ({ where }: { readonly where: string | null }): string => (where === null ? '' : ` ${where}`)

/** Joins names as a sentence has them: `a, b and c`. */
export const joinWithAnd = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** What a finding says instead of places that are not known. */
export const unknownPlaces = 'where is not known, since the table is full'

/** Creates the command that checks the file; with `--online`, it tries what the file names. */
export const checkCommandLine = (file: string, ...online: readonly '--online'[]): CommandLine => ({
  words: ['check', ...online, file],
  target: 'none',
})

export const tailCommand = commandLine('tail', '--refused', '--since', '15m')

/** Creates the command that shows what stands in the way of an operation. */
export const explainCommandLine = (id: OperationId, { listen: { basePath } }: Pick<Config, 'listen'>): CommandLine => {
  const { method, path } = operationsById[id]
  return commandLine('explain', method, basePath + path, '--live')
}

// What a trial of the endpoints sees: it connects, and sends no request.
const connectKinds: ReadonlySet<FailureKind | null> = new Set([
  'connect-failed',
  'connect-timeout',
  'tls-failed',
] as const)

/**
 * Creates the command that shows most of the failures of a group: where no connection was made, a trial; else how its
 * endpoints stand. A kind is null where the endpoint responded.
 */
export const faultCommandLine = (
  group: Group,
  kinds: readonly (FailureKind | null)[],
  inputs: Pick<FindingInputs, 'config' | 'file'>,
): CommandLine =>
  kinds.some((kind) => connectKinds.has(kind)) ? tryCommandLine(group, inputs) : liveCommandLine(group, inputs.config)

/**
 * Creates the command that tries the endpoints of a group as the file has them. Where the file says something else than
 * what runs, that would try other endpoints, or none: then, the command that shows those that run.
 */
export const tryCommandLine = (group: Group, { config, file }: Pick<FindingInputs, 'config' | 'file'>): CommandLine =>
  file.differing.length === 0 ? checkCommandLine(file.name, '--online') : liveCommandLine(group, config)

/** Creates the command that shows how the endpoints of a group stand in the running gateway. */
export const liveCommandLine = (group: Group, config: Pick<Config, 'listen'>): CommandLine => {
  const { id } = allOperations.find((each) => each.group === group) as (typeof allOperations)[number]
  return explainCommandLine(id, config)
}

/** Formats a command for a shell. */
export type FormatCommand = (command: CommandLine) => string

/**
 * Creates a function that formats commands as they run where an operator reads them, in any folder of this machine:
 * with the program that runs here, the absolute path of the file, and the address of this gateway. The file alone does
 * not lead to it when its port is a variable of this process, or chosen by the system.
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
