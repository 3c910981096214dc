import type { Change } from '../../config/diff.ts'
import type { Outcome } from '../../snapshot/reload-history.ts'
import type { Reloader } from '../../snapshot/reloader.ts'
import { html, type Shown } from '../page/html.ts'
import type { Refusal } from '../problem.ts'
import { time } from '../time.ts'
import { bad, flag, type Given, type ValuesOf } from './argument.ts'
import type { Command, CommandGroup } from './command.ts'
import { hrefOf, many, paragraphs } from './words.ts'

const args = {
  force: flag({
    usage: '--force',
    help: 'take it although no endpoint that it brings to a group can be reached',
    expected: 'true, or to be left out; nothing was read',
  }),
}

interface Result extends Exclude<Outcome, { result: 'refused' }> {
  readonly groups: readonly string[]
}

const mostShown = 20

// What skips a safeguard is said in so many words: `force=0` would mean the contrary to whoever writes it.
const forced: ReadonlySet<string> = new Set(['force', 'force=', 'force=true'])

const readForce = (query: string): Given | Refusal => {
  if (query === '') return {}
  return forced.has(query)
    ? { force: 'true' }
    : bad('/reload takes ?force or ?force=true and nothing else; nothing was read')
}

/** Reads the file again; by force without trying what it brings. */
const reloadCommand: Command<ValuesOf<typeof args>, ValuesOf<typeof args>, Result> = {
  choice: 'reload',
  page: 'reload',
  method: 'POST',
  path: '/reload',
  query: readForce,
  isInTurn: false,
  plan: (_, values) => values,
  async confirmation({ reloader }, { force }) {
    const { unread } = await import('../../snapshot/unread.ts')
    const differs = reloader.state.fileDiffers || (await unread(reloader))
    return {
      title: force ? 'Reload the configuration by force?' : 'Reload the configuration?',
      what: paragraphs(
        html`${reloader.file} is read again. It ${differs ? 'says something else than what' : 'is what'} runs now (${reloader.config.hash}).`,
        'If it is sound, it takes effect at once, for new requests; those under way finish as they began. If anything in it is wrong, nothing changes, and the next page says what and where.',
        force ? byForce : tried(reloader),
      ),
      ttlMs: null,
      button: force ? 'Reload by force' : 'Reload',
    }
  },
  run: async ({ reloader }, { force }) => resultOf(await reloader.reload('request', force)),
  event: null,
  done: (result) => applied(result),
  printed: (_, { from, to }) =>
    from === to ? `unchanged: ${to} runs, and is what the file says` : `applied: ${from} → ${to}`,
  answer: 'outcome',
  refused: 'refuses it',
  links: { summary: () => ({ given: {}, words: 'Reload the file' }) },
}

/** Has the file read again. */
export const reload: CommandGroup = {
  name: 'reload',
  description: 'Have a running gateway read its file again; tell what changed, or every problem.',
  choice: null,
  args,
  help: null,
  exitCodes: '0 what the file says runs, 1 the file is refused and what ran before runs on, 2 it could not be asked',
  examples: ['reload', 'reload --config /etc/lender-gateway/gateway.yaml', 'reload --force'],
  commands: [reloadCommand],
}

/** Brings the configuration before this one back. */
const rollbackCommand: Command<object, object, Result> = {
  choice: 'rollback',
  page: 'rollback',
  method: 'POST',
  path: '/rollback',
  query: () => ({}),
  isInTurn: false,
  plan: () => ({}),
  async confirmation({ reloader: { running, previous, file } }) {
    if (previous === null) return nothingBefore
    const { changesBetween } = await import('../../config/changes.ts')
    const changes = changesBetween(running, previous)
    const groups = await groupsOf(changes)
    const more = changes.length - mostShown
    return {
      title: 'Roll back the configuration?',
      what: [
        paragraphs(
          html`The configuration before this one takes effect at once: ${previous.config.hash} instead of ${running.config.hash}, ${changed(changes, groups)}.`,
        ),
        html`<ul>${changes.slice(0, mostShown).map(shown)}${more > 0 ? html`<li>${more} more</li>` : null}</ul>\n`,
        paragraphs(
          html`${file} is left alone, so it says something else than what runs. It is taken again when it changes, or at a reload.`,
          'Who may come in stays as it is now: clients, certificates of clients, and this listener.',
        ),
      ],
      ttlMs: null,
      button: 'Roll back',
    }
  },
  async run({ reloader }) {
    const outcome = await reloader.rollback()
    return outcome === null ? nothingBefore : resultOf(outcome)
  },
  event: null,
  done: (result) => applied(result),
  printed: (_, { from, to }) =>
    from === to
      ? `unchanged: ${to} runs, and is what ran before`
      : `rolled back: ${from} → ${to}; the file is left alone, and reload takes it again`,
  answer: 'outcome',
  refused: 'refuses it',
  refusals: new Map([
    ['nothing-to-roll-back', 'nothing to roll back: what runs is the first configuration since the start'],
  ]),
  links: {
    summary: ({ previous }) => (previous === null ? null : { given: {}, words: `Roll back to ${previous}` }),
  },
}

/** Has the configuration before this one run again. */
export const rollback: CommandGroup = {
  name: 'rollback',
  description: 'Have a running gateway go back to the configuration that it ran before.',
  choice: null,
  args: {},
  help: 'The file is left alone. It is taken again when its content changes, on SIGHUP and by reload.',
  exitCodes:
    '0 the configuration before runs again, 1 there is none or it cannot be put into effect, 2 it could not be asked',
  examples: ['rollback', 'rollback --format json'],
  commands: [rollbackCommand],
}

/** Answers with what came of a reload or a rollback. */
const resultOf = async (outcome: Outcome): Promise<Result | Refusal> => {
  if (outcome.result !== 'refused') return { ...outcome, groups: await groupsOf(outcome.changes) }
  const { hash, problems, held } = outcome
  if (held === null) return { ...refusedConfiguration, problems, more: { hash } }
  return { ...heldBack, problems, more: { hash, nextTry: time(held.nextTryAt) } }
}

// The command line reads this file, and compares no configurations.
const groupsOf = async (changes: readonly Change[]): Promise<readonly string[]> =>
  (await import('../../config/diff.ts')).changedGroups(changes)

const applied = ({ result, from, to, changes, groups }: Result): string =>
  result === 'unchanged'
    ? `Nothing has changed: the file says what runs already (${to}).`
    : `The configuration is ${to} now, and was ${from}: ${changed(changes, groups)}.`

const changed = (changes: readonly Change[], groups: readonly string[]): string =>
  `${many(changes.length, 'change')}${groups.length === 0 ? '' : ` in ${groups.join(', ')}`}`

const shown = ({ path, from, to }: Change) => html`<li><code>${path}</code>: ${value(from)} → ${value(to)}</li>`

const value = (of: unknown): string => {
  const text = of === null ? 'not set' : JSON.stringify(of)
  return text.length > 200 ? `${text.slice(0, 199)}…` : text
}

const tried = ({ config, state }: Reloader): Shown =>
  config.reload.preflight === 'none'
    ? null
    : html`Endpoints that it brings are tried first: when none of a group can be reached, nothing changes either.${
        state.nextTryAt === null ? null : ' Just now an edit is held back for this reason.'
      } <a href="${hrefOf('reload', { force: 'true' })}">Take it without trying</a>`

const byForce = html`<strong>What it brings is not tried:</strong> a group whose endpoints are not there answers its clients with errors from then on.`

const nothingBefore: Refusal = {
  status: 409,
  code: 'nothing-to-roll-back',
  detail: 'the configuration that runs is the first one of this process',
}

const refusedConfiguration = {
  status: 422,
  code: 'configuration-refused',
  detail: 'the file cannot be taken; what ran before runs on',
}

const heldBack = {
  status: 422,
  code: 'endpoints-not-reached',
  detail:
    'no endpoint that the edit brings to a group was reached, or not the keys that it brings; what ran before runs on, and the edit is tried again',
}
