import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  instanceParagraph,
  renderLayout,
  sendAdminError,
  sendPage,
} from '../../../features/console/page/page-response.ts'
import { csrfTokenField, logoutForm, parseForm } from '../../../features/console/session/csrf.ts'
import type { InstanceConfig } from '../../config/config.ts'
import { epochMs } from '../../lib/clock.ts'
import { formatDuration } from '../../lib/text/units.ts'
import type { Log } from '../../log/log.ts'
import { getPrincipal, type Principal } from '../access/principal.ts'
import type { AdminContext } from '../admin-context.ts'
import { type AdminError, isAdminError, sendProblem } from '../admin-error.ts'
import { type Html, html } from '../html.ts'
import { targetQuery } from '../url.ts'
import {
  type Arguments,
  badRequest,
  maxReasonLength,
  parseArguments,
  parseFields,
  parseJsonBody,
  type RawArguments,
} from './argument.ts'
import type { Command, CommandConfirmation, CommandEventFields, CommandWithPage, Order } from './command.ts'
import { commandGroups } from './command-groups.ts'
import { actionHref, spellDuration } from './phrases.ts'
import { toAdminError } from './workers-not-answering.ts'

/** Checks a request again, when it is its turn; null: its operator may still give the order. */
export type Recheck = (request: FastifyRequest) => AdminError | null

/**
 * Registers the commands: for scripts a method, a path and JSON; for people a page that says what would happen, whose
 * form runs the command.
 */
export const registerCommands = (app: FastifyInstance, context: AdminContext, log: Log, recheck: Recheck): void => {
  const all = commandGroups.flatMap(({ args, commands }) => commands.map((command) => ({ args, command })))
  for (const { args, command } of all) {
    const { method, path: url } = command
    app.route({
      method,
      url,
      handler: async (request, reply) => {
        const raw = command.query === null ? parseJsonBody(args, request.body) : command.query(targetQuery(request.url))
        const result = await runCommand(context, log, command, args, raw, toOrderGiver(request, recheck))
        return isAdminError(result) ? sendProblem(reply, result) : reply.send(result)
      },
    })
  }
  for (const { args, command } of all)
    if (hasPage(command)) registerCommandPage(app, context, log, command, args, recheck)
}

const hasPage = (command: Command): command is CommandWithPage =>
  command.page !== null && command.confirmation !== undefined

const registerCommandPage = (
  app: FastifyInstance,
  context: AdminContext,
  log: Log,
  command: CommandWithPage,
  args: Arguments,
  recheck: Recheck,
): void => {
  const target = `/actions/${command.page}`
  const names = Object.keys(args).filter((name) => args[name]?.only === undefined)
  const formNames = Object.keys(args).filter((name) => args[name]?.only !== 'script')
  const takes = names.length === 0 ? 'takes nothing' : `takes ${names.join(', ')}, each once at most`
  const expected = `: ${command.page} ${takes}`

  app.get(target, async (request, reply) => {
    const fields = new URLSearchParams(targetQuery(request.url))
    const confirmation = await confirm(context, command, args, parseFields(names, fields, expected))
    if (isAdminError(confirmation))
      return sendAdminError(request, reply, confirmation, context.reloader.config.instance)
    return sendPage(
      reply,
      200,
      confirmPage(
        command.page,
        Object.fromEntries(fields),
        confirmation,
        getPrincipal(request),
        context.reloader.config.instance,
      ),
    )
  })

  app.post(target, async (request, reply) => {
    const form = parseForm(request)
    const raw = isAdminError(form) ? form : parseFields(formNames, form, expected)
    const result = await runCommand(context, log, command, args, raw, toOrderGiver(request, recheck))
    if (isAdminError(result)) return sendAdminError(request, reply, result, context.reloader.config.instance)
    getPrincipal(request).setFlash(command.successText(result))
    return reply.redirect('/', 303)
  })
}

const confirm = async (
  context: AdminContext,
  command: CommandWithPage,
  args: Arguments,
  raw: RawArguments | AdminError,
): Promise<CommandConfirmation | AdminError> => {
  const values = readValues(command, args, raw)
  if (isAdminError(values)) return values
  const plan = await command.plan(context, values)
  return isAdminError(plan) ? plan : command.confirmation(context, plan)
}

/** Its log line and its audit record are the same wherever it comes from. */
const runCommand = async (
  context: AdminContext,
  log: Log,
  command: Command,
  args: Arguments,
  raw: RawArguments | AdminError,
  { by, recheck }: OrderGiver,
): Promise<object> => {
  const values = readValues(command, args, raw)
  if (isAdminError(values)) return values
  const { reloader } = context
  const execute = async (within: AdminContext, apply: () => Promise<void>): Promise<object> => {
    const plan = await command.plan(within, values)
    return isAdminError(plan) ? plan : command.run(within, plan, { by, apply, recheck }).catch(toAdminError)
  }
  // An edit may have come first, and taken the operator's token away.
  const result = await (command.isAtomic
    ? reloader.change(
        async (apply, urgent) => recheck() ?? execute(hurried(context, urgent), apply),
        command.isUrgent?.(values),
      )
    : execute(context, () => reloader.reapply()))
  const done = eventFields(command, result)
  if (done === null) return result
  // A key is what a client wrote: it stands on no page.
  if (command.page !== null) context.orders.add({ at: epochMs(), by, text: orderText(command, result) })
  if (command.event === null) return result
  const fields = { ...done, by }
  log.info(fields, command.event)
  context.recordAdminEvent(command.event, fields)
  return result
}

/** Creates the context of a command that hurries what it asks the processes, when something urgent waits for it. */
const hurried = (context: AdminContext, urgent: Promise<void>): AdminContext => ({
  ...context,
  report: () => context.report(urgent),
  runEverywhere: (name, params) => context.runEverywhere(name, params, urgent),
})

type OrderGiver = Pick<Order, 'by' | 'recheck'>

const toOrderGiver = (request: FastifyRequest, recheck: Recheck): OrderGiver => ({
  by: getPrincipal(request).operator?.name ?? request.ip,
  recheck: () => recheck(request),
})

const eventFields = (command: Command, result: object): CommandEventFields | null => {
  if (!isAdminError(result)) return command.fields?.(result) ?? { ...result }
  return result.done === undefined ? null : { ...result.done, incomplete: result.code }
}

/** Of what was done in part it says why not all of it was. */
const orderText = (command: Command, result: object): string => {
  if (!isAdminError(result)) return command.successText(result)
  const facts = Object.entries(result.done ?? {}).flatMap(([key, value]) => (value === null ? [] : [`${key} ${value}`]))
  return `In part: ${command.event} (${facts.join(', ')}): ${result.detail}`
}

const readValues = (command: Command, args: Arguments, raw: RawArguments | AdminError): object => {
  const values = isAdminError(raw) ? raw : parseArguments(args, raw)
  const mistake = isAdminError(values) ? null : (command.validate?.(values, String) ?? null)
  return mistake === null ? values : badRequest(mistake)
}

const minute = 60_000
const ttlChoices: readonly number[] = [5 * minute, 15 * minute, 60 * minute, 4 * 60 * minute, 24 * 60 * minute]

/** Renders the page that asks once more before a command is run: the form sends what is shown, word for word. */
const confirmPage = (
  page: string,
  query: Readonly<Record<string, string>>,
  { title, what, ttlMs, ttlName = 'ttl', args, choices, asksReason, button }: CommandConfirmation,
  principal: Principal,
  instance: InstanceConfig,
): Html => {
  const { reason: _, ...given } = query // the form has a field for it
  const fields = {
    ...(asksReason ? given : query),
    ...args,
    ...(ttlMs === null ? {} : { [ttlName]: formatDuration(ttlMs) }),
  }
  return renderLayout({
    title,
    instance,
    beside: logoutForm(principal),
    body: html`<h1>${title}</h1>
${instanceParagraph(instance)}${what}${choices && otherValues(page, query, choices)}${ttlMs === null ? null : otherTimes(page, query, ttlName, ttlMs)}<form method="post" action="${actionHref(page)}">
${csrfTokenField(principal)}
${Object.entries(fields).map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">\n`)}${asksReason && html`<p><label>Why, for the log <input name="reason" value="${query.reason}" maxlength="${maxReasonLength}" autocomplete="off"></label></p>\n`}<p><button type="submit">${button}</button> <a href="/">Leave it as it is</a></p>
</form>`,
  })
}

const otherValues = (
  page: string,
  query: Readonly<Record<string, string>>,
  { name, words, values }: NonNullable<CommandConfirmation['choices']>,
): Html => html`<p>${words}:
${values.map((value, i) => html`${i === 0 ? null : ' · '}<a href="${actionHref(page, { ...query, [name]: value })}">${value}</a>`)}</p>
`

const otherTimes = (
  page: string,
  query: Readonly<Record<string, string>>,
  ttlName: string,
  ttlMs: number,
): Html => html`<p>For another time:
${ttlChoices
  .filter((ms) => ms !== ttlMs)
  .map(
    (ms, i) =>
      html`${i === 0 ? null : ' · '}<a href="${actionHref(page, { ...query, [ttlName]: formatDuration(ms) })}">${spellDuration(ms)}</a>`,
  )}</p>
`
