import type { FastifyInstance } from 'fastify'
import type { Log } from '../../observe/log.ts'
import { formatDuration } from '../../units.ts'
import type { Desk } from '../desk.ts'
import { type Html, html } from '../page/html.ts'
import { layout, refuse, sendPage } from '../page/send.ts'
import { isRefusal, type Refusal, sendProblem } from '../problem.ts'
import { formOf, formTokenField, logoutForm, type Visitor, visitorOf } from '../session/sessions.ts'
import { queryOf } from '../target.ts'
import { type Arguments, type Given, readFields, readJson, readValues } from './argument.ts'
import type { Command, Confirmation } from './command.ts'
import { commandGroups } from './commands.ts'
import { hrefOf, spoken } from './words.ts'

/**
 * Takes commands: from scripts by a method, a path and JSON; from people by a page that says what would happen, and
 * whose form has it done.
 */
export const registerCommands = (app: FastifyInstance, desk: Desk, log: Log): void => {
  const all = commandGroups.flatMap(({ args, commands }) => commands.map((command) => ({ args, command })))
  for (const { args, command } of all) {
    const { method, path: url } = command
    app.route({
      method,
      url,
      handler: async (request, reply) => {
        const given = command.query === null ? readJson(args, request.body) : command.query(queryOf(request.url))
        const result = await run(desk, log, command, args, given)
        return isRefusal(result) ? sendProblem(reply, result) : reply.send(result)
      },
    })
  }
  for (const { args, command } of all) registerPage(app, desk, log, command, args)
}

const registerPage = (app: FastifyInstance, desk: Desk, log: Log, command: Command, args: Arguments): void => {
  const target = `/actions/${command.page}`
  const names = Object.keys(args).filter((name) => args[name]?.isOffPage !== true)
  const takes = names.length === 0 ? 'takes nothing' : `takes ${names.join(', ')}, each once at most`
  const read = (fields: URLSearchParams) => readFields(names, fields, `: ${command.page} ${takes}`)

  app.get(target, async (request, reply) => {
    const fields = new URLSearchParams(queryOf(request.url))
    const confirmation = await ask(desk, command, args, read(fields))
    if (isRefusal(confirmation)) return refuse(request, reply, confirmation)
    return sendPage(reply, 200, confirmPage(command.page, Object.fromEntries(fields), confirmation, visitorOf(request)))
  })

  app.post(target, async (request, reply) => {
    const form = formOf(request)
    const result = await run(desk, log, command, args, isRefusal(form) ? form : read(form))
    if (isRefusal(result)) return refuse(request, reply, result)
    visitorOf(request).note(command.done(result))
    return reply.redirect('/', 303)
  })
}

/** Says what a command would do, or what speaks against it. Does nothing. */
const ask = async (
  desk: Desk,
  command: Command,
  args: Arguments,
  given: Given | Refusal,
): Promise<Confirmation | Refusal> => {
  const plan = await planned(desk, command, args, given)
  return isRefusal(plan) ? plan : command.confirmation(desk, plan)
}

/** Has a command done. Its line of the log and its record are the same wherever it comes from. */
const run = async (
  desk: Desk,
  log: Log,
  command: Command,
  args: Arguments,
  given: Given | Refusal,
): Promise<object> => {
  const done = async (): Promise<object> => {
    const plan = await planned(desk, command, args, given)
    return isRefusal(plan) ? plan : command.run(desk, plan)
  }
  const result = await (command.isInTurn ? desk.overrides.inTurn(done) : done())
  if (isRefusal(result) || command.event === null) return result
  const fields = command.fields?.(result) ?? { ...result }
  log.info(fields, command.event)
  desk.audit.tell(command.event, fields)
  return result
}

const planned = async (desk: Desk, command: Command, args: Arguments, given: Given | Refusal): Promise<object> => {
  if (isRefusal(given)) return given
  const values = readValues(args, given)
  return isRefusal(values) ? values : command.plan(desk, values)
}

const minute = 60_000
const choices: readonly number[] = [5 * minute, 15 * minute, 60 * minute, 4 * 60 * minute, 24 * 60 * minute]

/** Asks once more before a command is run: what is shown is what the form then says, word for word. */
const confirmPage = (
  page: string,
  given: Readonly<Record<string, string>>,
  { title, what, ttlMs, button }: Confirmation,
  visitor: Visitor,
): Html => {
  const fields = ttlMs === null ? given : { ...given, ttl: formatDuration(ttlMs) }
  return layout({
    title,
    beside: logoutForm(visitor),
    body: html`<h1>${title}</h1>
${what}${ttlMs === null ? null : otherTimes(page, given, ttlMs)}<form method="post" action="${hrefOf(page)}">
${formTokenField(visitor)}
${Object.entries(fields).map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">\n`)}<p><button type="submit">${button}</button> <a href="/">Leave it as it is</a></p>
</form>`,
  })
}

const otherTimes = (
  page: string,
  given: Readonly<Record<string, string>>,
  ttlMs: number,
): Html => html`<p>For another time:
${choices
  .filter((ms) => ms !== ttlMs)
  .map(
    (ms, i) =>
      html`${i === 0 ? null : ' · '}<a href="${hrefOf(page, { ...given, ttl: formatDuration(ms) })}">${spoken(ms)}</a>`,
  )}</p>
`
