import { formatProblem, formatProblems } from '../../config/problem.ts'
import { type Outcome, outcome, refused, understood } from './answers.ts'
import { ask, type Reply } from './ask.ts'
import { changesText } from './changes-text.ts'
import { findGateway, type Where } from './find.ts'
import { noteDoubt, type Printing, printJson } from './print.ts'
import { type Target, urlOf } from './target.ts'

/** Has a gateway read its file again and prints what came of it; by force, whether the endpoints are reached or not. Resolves to the exit code. */
export const reload = ({ force, ...options }: Where & Printing & { readonly force?: true }): Promise<number> =>
  move(force ? '/reload?force' : '/reload', options)

/** Has a gateway go back to the configuration before and prints what came of it; resolves to the exit code. */
export const rollback = (options: Where & Printing): Promise<number> => move('/rollback', options)

type Path = '/reload' | '/reload?force' | '/rollback'

// The gateway gives itself 10 s to read a file, and may be at another one when it is asked.
const limitMs = 30_000

const move = async (path: Path, { format, ...where }: Where & Printing): Promise<number> => {
  const target = await findGateway(where)
  const reply = await ask(target, { method: 'POST', path, limitMs })
  noteDoubt(target)
  const text = reply.status === 200 ? done(target, path, reply) : undone(target, reply)
  if (format === 'json') printJson(reply.body)
  else process.stdout.write(text)
  return reply.status === 200 ? 0 : 1
}

const done = (target: Target, path: Path, { body }: Reply): string => {
  const told = understood(target, body, outcome)
  const warnings = told.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`).join('')
  return warnings + headline(path, told) + (told.changes.length === 0 ? '' : `\n${changesText(told.changes)}`)
}

const headline = (path: Path, { from, to }: Outcome): string => {
  if (from === to)
    return `unchanged: ${to} runs, and is what ${path === '/rollback' ? 'ran before' : 'the file says'}\n`
  if (path !== '/rollback') return `applied: ${from} → ${to}\n`
  return `rolled back: ${from} → ${to}; the file is left alone, and reload takes it again\n`
}

const undone = (target: Target, { status, body }: Reply): string => {
  if (status === 409 && codeOf(body) === 'nothing-to-roll-back')
    return 'nothing to roll back: what runs is the first configuration since the start\n'
  const { hash, problems, nextTry } = understood(target, body, refused)
  const then = nextTry === null ? '' : ', and it is tried again and again while the file says so'
  process.stderr.write(`lender-gateway: ${urlOf(target)} refuses it; ${hash} runs on${then}\n`)
  return formatProblems(problems)
}

const codeOf = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined
