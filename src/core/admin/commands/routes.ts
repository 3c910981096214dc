import type { FastifyInstance, FastifyRequest } from 'fastify'
import { epochMs } from '../../lib/clock.ts'
import type { Log } from '../../log/log.ts'
import { getPrincipal } from '../access/principal.ts'
import type { AdminContext } from '../admin-context.ts'
import { type AdminError, isAdminError, sendProblem } from '../admin-error.ts'
import type { Recheck } from '../admin-part.ts'
import { targetQuery } from '../url.ts'
import { type Arguments, badRequest, parseArguments, parseJsonBody, type RawArguments } from './argument.ts'
import type { Command, CommandEventFields, Invocation } from './command.ts'
import { commandGroups } from './command-groups.ts'
import { toAdminError } from './phrases.ts'

export const registerCommands = (app: FastifyInstance, context: AdminContext, log: Log, recheck: Recheck): void => {
  for (const { args, commands } of commandGroups)
    for (const command of commands)
      app.route({
        method: command.method,
        url: command.path,
        handler: async (request, reply) => {
          const { query } = command
          const raw = query === null ? parseJsonBody(args, request.body) : query(targetQuery(request.url))
          const result = await runCommand(context, log, command, args, raw, toInvoker(request, recheck))
          return isAdminError(result) ? sendProblem(reply, result) : reply.send(result)
        },
      })
}

export const runCommand = async (
  context: AdminContext,
  log: Log,
  command: Command,
  args: Arguments,
  raw: RawArguments | AdminError,
  { by, recheck }: Invoker,
): Promise<object> => {
  const values = readArguments(command, args, raw)
  if (isAdminError(values)) return values
  const { reloader } = context
  const execute = async (within: AdminContext, apply: () => Promise<void>): Promise<object> => {
    const plan = await command.plan(within, values)
    return isAdminError(plan) ? plan : command.run(within, plan, { by, apply, recheck }).catch(toAdminError)
  }
  // The command may have waited for an edit that removed the operator's token.
  const result = await (command.isAtomic
    ? reloader.change(
        async (apply, urgent) => recheck() ?? execute(hurried(context, urgent), apply),
        command.isUrgent?.(values),
      )
    : execute(context, () => reloader.reapply()))
  const done = eventFields(command, result)
  if (done === null) return result
  // A command without a page is about a client's idempotency key, which no page shows.
  if (command.page !== null) context.commandHistory.add({ at: epochMs(), by, text: commandText(command, result) })
  if (command.event === null) return result
  const fields = { ...done, by }
  log.info(fields, command.event)
  context.recordAdminEvent(command.event, fields)
  return result
}

/** Calls to workers end early when an urgent command waits. */
const hurried = (context: AdminContext, urgent: Promise<void>): AdminContext => ({
  ...context,
  report: () => context.report(urgent),
  runEverywhere: (name, params) => context.runEverywhere(name, params, urgent),
})

type Invoker = Pick<Invocation, 'by' | 'recheck'>

export const toInvoker = (request: FastifyRequest, recheck: Recheck): Invoker => ({
  by: getPrincipal(request).operator?.name ?? request.ip,
  recheck: () => recheck(request),
})

const eventFields = (command: Command, result: object): CommandEventFields | null => {
  if (!isAdminError(result)) return command.fields?.(result) ?? { ...result }
  return result.done === undefined ? null : { ...result.done, incomplete: result.code }
}

const commandText = (command: Command, result: object): string => {
  if (!isAdminError(result)) return command.successText(result)
  const facts = Object.entries(result.done ?? {}).flatMap(([key, value]) => (value === null ? [] : [`${key} ${value}`]))
  return `In part: ${command.event} (${facts.join(', ')}): ${result.detail}`
}

export const readArguments = (command: Command, args: Arguments, raw: RawArguments | AdminError): object => {
  const values = isAdminError(raw) ? raw : parseArguments(args, raw)
  const mistake = isAdminError(values) ? null : (command.validate?.(values, String) ?? null)
  return mistake === null ? values : badRequest(mistake)
}
