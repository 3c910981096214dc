import type { FastifyInstance } from 'fastify'
import { getPrincipal, type Principal } from '../../../core/admin/access/principal.ts'
import type { AdminContext } from '../../../core/admin/admin-context.ts'
import { type AdminError, isAdminError } from '../../../core/admin/admin-error.ts'
import type { Recheck } from '../../../core/admin/admin-part.ts'
import {
  type Arguments,
  maxReasonLength,
  parseFields,
  type RawArguments,
} from '../../../core/admin/commands/argument.ts'
import type { Command, CommandConfirmation, CommandWithPage } from '../../../core/admin/commands/command.ts'
import { commandGroups } from '../../../core/admin/commands/command-groups.ts'
import { actionHref, spellDuration } from '../../../core/admin/commands/phrases.ts'
import { readArguments, runCommand, toInvoker } from '../../../core/admin/commands/routes.ts'
import { type Html, html } from '../../../core/admin/html.ts'
import { targetQuery } from '../../../core/admin/url.ts'
import type { InstanceConfig } from '../../../core/config/config.ts'
import { formatDuration } from '../../../core/lib/text/units.ts'
import type { Log } from '../../../core/log/log.ts'
import {
  csrfTokenField,
  instanceParagraph,
  logoutForm,
  parseForm,
  renderLayout,
  sendAdminError,
  sendPage,
} from './page-response.ts'

export const registerActionPages = (app: FastifyInstance, context: AdminContext, log: Log, recheck: Recheck): void => {
  for (const { args, commands } of commandGroups)
    for (const command of commands.filter(hasPage)) {
      const target = `/actions/${command.page}`
      const names = Object.keys(args).filter((name) => args[name]?.only === undefined)
      const formNames = Object.keys(args).filter((name) => args[name]?.only !== 'script')
      const takes = names.length === 0 ? 'takes nothing' : `takes ${names.join(', ')}, each once at most`
      const expected = `: ${command.page} ${takes}`

      app.get(target, async (request, reply) => {
        const fields = new URLSearchParams(targetQuery(request.url))
        const confirmation = await confirm(context, command, args, parseFields(names, fields, expected))
        const { instance } = context.reloader.config
        if (isAdminError(confirmation)) return sendAdminError(request, reply, confirmation, instance)
        const query = Object.fromEntries(fields)
        return sendPage(reply, 200, confirmPage(command.page, query, confirmation, getPrincipal(request), instance))
      })

      app.post(target, async (request, reply) => {
        const form = parseForm(request)
        const raw = isAdminError(form) ? form : parseFields(formNames, form, expected)
        const result = await runCommand(context, log, command, args, raw, toInvoker(request, recheck))
        if (isAdminError(result)) return sendAdminError(request, reply, result, context.reloader.config.instance)
        getPrincipal(request).setFlash(command.successText(result))
        return reply.redirect('/', 303)
      })
    }
}

const hasPage = (command: Command): command is CommandWithPage =>
  command.page !== null && command.confirmation !== undefined

const confirm = async (
  context: AdminContext,
  command: CommandWithPage,
  args: Arguments,
  raw: RawArguments | AdminError,
): Promise<CommandConfirmation | AdminError> => {
  const values = readArguments(command, args, raw)
  if (isAdminError(values)) return values
  const plan = await command.plan(context, values)
  return isAdminError(plan) ? plan : command.confirmation(context, plan)
}

const minute = 60_000
const ttlChoices: readonly number[] = [5 * minute, 15 * minute, 60 * minute, 4 * 60 * minute, 24 * 60 * minute]

type Query = Readonly<Record<string, string>>

const confirmPage = (
  page: string,
  query: Query,
  { title, what, ttlMs, ttlName = 'ttl', args, choices, asksReason, button }: CommandConfirmation,
  principal: Principal,
  instance: InstanceConfig,
): Html => {
  const { reason: _, ...given } = query
  const others = choices?.values.map((value) => [value, { ...query, [choices.name]: value }] as const)
  const otherTimes = ttlChoices
    .filter((ms) => ms !== ttlMs)
    .map((ms) => [spellDuration(ms), { ...query, [ttlName]: formatDuration(ms) }] as const)
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
${instanceParagraph(instance)}${what}${choices && others && otherLinks(page, choices.words, others)}${ttlMs !== null && otherLinks(page, 'For another time', otherTimes)}<form method="post" action="${actionHref(page)}">
${csrfTokenField(principal)}
${Object.entries(fields).map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">\n`)}${asksReason && html`<p><label>Why, for the log <input name="reason" value="${query.reason}" maxlength="${maxReasonLength}" autocomplete="off"></label></p>\n`}<p><button type="submit">${button}</button> <a href="/">Leave it as it is</a></p>
</form>`,
  })
}

const otherLinks = (
  page: string,
  words: string,
  links: readonly (readonly [string, Query])[],
): Html => html`<p>${words}:
${links.map(([word, query], i) => html`${i === 0 ? null : ' · '}<a href="${actionHref(page, query)}">${word}</a>`)}</p>
`
