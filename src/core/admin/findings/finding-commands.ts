import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { allOperations, type Group, type OperationId, operationsById } from '../../../operations.ts'
import type { AdminConfig, Config } from '../../config/config.ts'
import type { FailureKind } from '../../exchange/failures/kinds.ts'
import { programCommand, shellQuote } from '../../lib/program-command.ts'
import type { Reloader } from '../../runtime/reload/reloader.ts'
import type { Finding } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

export const tailCommand = 'lender-gateway tail --refused --since 15m'

export const explainCommandLine = (id: OperationId, { listen: { basePath } }: Pick<Config, 'listen'>): string => {
  const { method, path } = operationsById[id]
  return `lender-gateway explain ${method} ${shellQuote(basePath + path)} --live`
}

// What a trial of the endpoints sees: it connects, and sends no request.
const connectKinds: ReadonlySet<FailureKind | null> = new Set([
  'connect-failed',
  'connect-timeout',
  'tls-failed',
] as const)

/**
 * Formats the command that shows most of the failures of a group: where no connection was made, a trial; else how its
 * endpoints stand. A kind is null where the endpoint responded.
 */
export const faultCommandLine = (
  group: Group,
  kinds: readonly (FailureKind | null)[],
  inputs: Pick<FindingInputs, 'config' | 'file'>,
): string =>
  kinds.some((kind) => connectKinds.has(kind)) ? tryCommandLine(group, inputs) : liveCommandLine(group, inputs.config)

/**
 * Formats the command that tries the endpoints of a group as the file has them. Where the file says something else than
 * what runs, that would try other endpoints, or none: then, the command that shows those that run.
 */
export const tryCommandLine = (group: Group, { config, file }: Pick<FindingInputs, 'config' | 'file'>): string => {
  if (file.differing.length === 0) return `lender-gateway check --online ${file.name}`
  return liveCommandLine(group, config)
}

/** Formats the command that shows how the endpoints of a group stand in the running gateway. */
export const liveCommandLine = (group: Group, config: Pick<Config, 'listen'>): string => {
  const { id } = allOperations.find((each) => each.group === group) as (typeof allOperations)[number]
  return explainCommandLine(id, config)
}

/** Completes the command of a finding, so that it runs in any folder of this machine. */
export type ResolveCommand = (found: Finding) => Finding

// This command asks no gateway.
const readsFileAlone = /^lender-gateway check /
// This one finds the gateway by the file that it names.
const namesFile = /^lender-gateway diff /

/**
 * Creates a resolver that makes commands run where an operator reads them: with the program that runs here, the
 * absolute path of the file, and the address of this gateway. The file alone does not lead to it when its port is a
 * variable of this process, or chosen by the system.
 */
export const createCommandResolver = (
  { file, statedAdminPort }: Pick<Reloader, 'file' | 'statedAdminPort'>,
  { tls }: AdminConfig,
  { address, family, port }: AddressInfo,
): ResolveCommand => {
  const program = programCommand()
  const path = resolve(file)
  const place = shellQuote(path)
  const host = /^(0\.0\.0\.0|::)$/.test(address) ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  const url = `${tls === null ? 'http' : 'https'}://${host}:${port}`
  const toGateway = statedAdminPort === port ? '' : ` --admin ${url}`
  return (found) => {
    if (found.command === null || !found.command.startsWith('lender-gateway ')) return found // a shell has it anyway
    const command = found.command.replace(/^lender-gateway/, () => program).replace(path, () => place)
    if (readsFileAlone.test(found.command)) return { ...found, command }
    const fromFile = namesFile.test(found.command) ? command : `${command} --config ${place}`
    return { ...found, command: fromFile + toGateway }
  }
}
