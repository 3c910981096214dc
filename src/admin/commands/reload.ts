import { epochMs } from '../../clock.ts'
import type { ConfigChange } from '../../config/diff/diff-reports.ts'
import { findLostProtections } from '../../runtime/reload/lost-protections.ts'
import type { ReloadOutcome, UnforcedRollback } from '../../runtime/reload/reload-history.ts'
import type { Reloader } from '../../runtime/reload/reloader.ts'
import type { AdminContext } from '../admin-context.ts'
import { type AdminError, isAdminError } from '../admin-error.ts'
import { formatOptionalTime, formatTime, formatTimeOfDay } from '../format-time.ts'
import { type HtmlValue, html } from '../page/html.ts'
import { type Arguments, badRequest, flagArgument, optionalArgument, textArgument, type ValuesOf } from './argument.ts'
import type { Command, CommandGroup } from './command.ts'
import { actionHref, paragraphs, pluralize } from './phrases.ts'
import { workersNotAnswering } from './workers-not-answering.ts'

const forceArgument = (help: string) => ({
  force: flagArgument('--force', help, 'true, or to be left out; nothing was done'),
})

const args = forceArgument('take it although no endpoint that it brings to a group can be reached')

// Only the form sends it: what its page showed may be no longer so.
const shownArgument = optionalArgument(
  textArgument({ usage: '--shown <HASH>', help: 'a configuration as the page showed it', only: 'form' }),
)

const rollbackArgs = {
  ...forceArgument('go back although this switches off a protection, such as authentication or an enforced contract'),
  from: shownArgument,
  to: shownArgument,
}

interface ReloadCommandResult extends Omit<Exclude<ReloadOutcome, { result: 'refused' }>, 'neverRan'> {
  readonly groups: readonly string[]
  /** When an edit was refused that a rollback found in the file, in RFC 3339. Null: there is none. */
  readonly neverRan: string | null
}

const maxShownChanges = 20

// Skipping a safeguard takes these very words: an operator who writes `force=0` means the contrary.
const forceQueries: ReadonlySet<string> = new Set(['force', 'force=', 'force=true'])

type ReloadCommand<Args extends Arguments = typeof args> = Command<ValuesOf<Args>, ValuesOf<Args>, ReloadCommandResult>

/** Creates what both commands have in common: `force` is all that they take. */
const reloadDefaults = (name: 'reload' | 'rollback') =>
  ({
    choice: name,
    page: name,
    method: 'POST',
    path: `/${name}`,
    query(query) {
      if (query === '') return {}
      return forceQueries.has(query)
        ? { force: 'true' }
        : badRequest(`/${name} takes ?force or ?force=true and nothing else; nothing was done`)
    },
    isAtomic: false,
    plan: <Values>(_: AdminContext, values: Values) => values,
    event: null,
    successText: appliedText,
    responseShape: 'outcome',
    rejectedText: 'refuses it',
  }) satisfies Partial<ReloadCommand>

/** Reads the file again; by force without checking that its new endpoints are reached. */
const reloadCommand: ReloadCommand = {
  ...reloadDefaults('reload'),
  async confirmation({ reloader }, { force }) {
    const { findDriftedFiles } = await import('../../runtime/reload/config-drift.ts')
    const differs = reloader.state.fileDiffers || (await findDriftedFiles(reloader)).length > 0
    return {
      title: force ? 'Reload the configuration by force?' : 'Reload the configuration?',
      what: paragraphs(
        html`${reloader.file} is read again. It ${differs ? 'says something else than what' : 'is what'} runs now (${reloader.config.hash}).`,
        'If it is sound, it takes effect at once, for new requests; those under way finish as they began. If anything in it is wrong, nothing changes, and the next page says what and where.',
        force ? forceWarning : preflightNotice(reloader),
      ),
      ttlMs: null,
      button: force ? 'Reload by force' : 'Reload',
    }
  },
  async run({ reloader }, { force }, { by, recheck }) {
    const outcome = await reloader.reload('request', force, by, recheck)
    return isAdminError(outcome) ? outcome : toReloadResult(outcome)
  },
  cliText: (_, { from, to }) =>
    from === to ? `unchanged: ${to} runs, and is what the file says` : `applied: ${from} → ${to}`,
  links: { summary: () => ({ query: {}, words: 'Reload the file' }) },
}

/** Reads the file again. */
export const reloadCommands: CommandGroup = {
  name: 'reload',
  description: 'Have a running gateway read its file again; tell what changed, or every problem.',
  choice: null,
  args,
  help: null,
  exitCodes:
    '0 what the file says runs, 1 the file is refused or a worker does not answer, and what ran before runs on, 2 it could not be asked',
  examples: ['reload', 'reload --config /etc/lender-gateway/gateway.yaml', 'reload --force'],
  commands: [reloadCommand],
}

/** Returns to the configuration before this one. */
const rollbackCommand: ReloadCommand<typeof rollbackArgs> = {
  ...reloadDefaults('rollback'),
  async confirmation({ reloader }) {
    const { running, previous, file, state } = reloader
    if (previous === null) return nothingToRollBack(reloader)
    const { diffConfigs } = await import('../../config/diff/diff-configs.ts')
    const changes = diffConfigs(running, previous)
    const lost = findLostProtections(running.config, previous.config)
    const groups = await getChangedGroups(changes)
    const more = changes.length - maxShownChanges
    return {
      title: 'Roll back the configuration?',
      what: [
        paragraphs(
          lost.length > 0 && html`<strong>This switches off what is on now: ${lost.join(', ')}.</strong>`,
          state.refusal !== null &&
            state.refusal.trigger !== 'rollback' &&
            html`<strong>The edit that was refused at ${formatTimeOfDay(state.refusal.at, epochMs())} never ran: it is not what this undoes.</strong>`,
          html`The configuration before this one takes effect at once: ${previous.config.hash} instead of ${running.config.hash}, ${changesText(changes, groups)}.`,
        ),
        html`<ul>${changes.slice(0, maxShownChanges).map(changeItem)}${more > 0 ? html`<li>${more} more</li>` : null}</ul>\n`,
        paragraphs(
          html`${file} is left alone, so it says something else than what runs. It is taken again when it changes, or at a reload.`,
          'Clients, certificates, keys and tokens stay as they are now.',
        ),
      ],
      ttlMs: null,
      args: { from: running.config.hash, to: previous.config.hash, ...(lost.length > 0 ? { force: 'true' } : {}) },
      button:
        lost.length > 0
          ? `Roll back and switch off ${lost.length > 1 ? `these ${lost.length}` : lost[0]}`
          : 'Roll back',
    }
  },
  async run({ reloader }, { force, ...shown }, { by, recheck }) {
    const wasHeldBack = reloader.state.nextTryAt !== null
    const outcome = await reloader.rollback(force, by, () => recheck() ?? rejectOutdatedPage(reloader, shown))
    if (outcome === null) return nothingToRollBack(reloader, wasHeldBack)
    if (isAdminError(outcome)) return outcome
    return outcome.result === 'unforced' ? switchesOffError(outcome) : toReloadResult(outcome)
  },
  cliText: (_, { from, to, neverRan }) =>
    from === to
      ? `unchanged: ${to} runs, and is what ran before`
      : `rolled back: ${from} → ${to}, with clients, certificates, keys and tokens as they are now; ${neverRan === null ? 'the file is left alone, and reload takes it again' : neverRanText(neverRan)}`,
  plainErrors: ['nothing-to-roll-back', 'switches-off'],
  links: {
    summary: ({ previous }) => (previous === null ? null : { query: {}, words: `Roll back to ${previous}` }),
  },
}

/** Returns to the configuration before this one. */
export const rollbackCommands: CommandGroup = {
  name: 'rollback',
  description: 'Have a running gateway go back to the configuration that it ran before.',
  choice: null,
  args: rollbackArgs,
  help: `Clients, certificates, keys and tokens stay as they are now.
The file is left alone. It is taken again when its content changes, on SIGHUP and by reload.`,
  exitCodes:
    '0 the configuration before runs again, 1 there is none, it would switch a protection off, or it cannot be put into effect, 2 it could not be asked',
  examples: ['rollback', 'rollback --force', 'rollback --format json'],
  commands: [rollbackCommand],
}

/** Converts the outcome of a reload or a rollback to the response. */
const toReloadResult = async (outcome: ReloadOutcome): Promise<ReloadCommandResult | AdminError> => {
  if (outcome.result !== 'refused') {
    const neverRan = formatOptionalTime(outcome.neverRan)
    return { ...outcome, neverRan, groups: await getChangedGroups(outcome.changes) }
  }
  const { hash, problems, held, unanswered } = outcome
  const extensions = held === null ? { hash } : { hash, nextTry: formatTime(held.nextTryAt) }
  if (unanswered !== null) return { ...workersNotAnswering(unanswered), problems, extensions }
  return { ...(held === null ? configurationRejected : endpointsUnreachable), problems, extensions }
}

// Imported late: the command line reads this file, and compares no configurations.
const getChangedGroups = async (changes: readonly ConfigChange[]): Promise<readonly string[]> =>
  (await import('../../config/diff/diff-reports.ts')).changedGroups(changes)

const neverRanText = (refusedAt: string): string =>
  `the edit that was refused at ${refusedAt} never ran, so it is not what was undone`

function appliedText({ result, from, to, changes, groups, switchedOff, neverRan }: ReloadCommandResult): string {
  if (result === 'unchanged') return `Nothing has changed: the file says what runs already (${to}).`
  const off = switchedOff.length > 0 ? ` Switched off: ${switchedOff.join(', ')}.` : ''
  const note = neverRan === null ? '' : ` Note that ${neverRanText(neverRan)}.`
  return `The configuration is ${to} now, and was ${from}: ${changesText(changes, groups)}.${off}${note}`
}

const changesText = (changes: readonly ConfigChange[], groups: readonly string[]): string =>
  `${pluralize(changes.length, 'change')}${groups.length === 0 ? '' : ` in ${groups.join(', ')}`}`

const changeItem = ({ path, from, to }: ConfigChange) =>
  html`<li><code>${path}</code>: ${formatValue(from)} → ${formatValue(to)}</li>`

const formatValue = (of: unknown): string => {
  const text = of === null ? 'not set' : JSON.stringify(of)
  return text.length > 200 ? `${text.slice(0, 199)}…` : text
}

const preflightNotice = ({ config, state }: Reloader): HtmlValue =>
  config.reload.preflight === 'none'
    ? null
    : html`Endpoints that it brings are tried first: when none of a group can be reached, nothing changes either.${
        state.nextTryAt === null ? null : ' Just now an edit is held back.'
      } <a href="${actionHref('reload', { force: 'true' })}">Take it without trying</a>`

const forceWarning = html`<strong>What it brings is not tried:</strong> a group whose endpoints are not there answers its clients with errors from then on.`

/** `hasEndedTries`: an edit was held back, and the rollback has ended that. */
const nothingToRollBack = ({ isFirst, state: { refusal } }: Reloader, hasEndedTries = false): AdminError => {
  const why = isFirst
    ? 'what runs is the first configuration since the start'
    : 'the configuration before differs only in what a rollback leaves as it is: clients, certificates, keys and tokens'
  const note = hasEndedTries
    ? '; the edit that was held back never ran, and is tried no more: put the file right, or have reload try it again'
    : refusal === null || refusal.trigger === 'rollback'
      ? ''
      : `; the edit that was refused at ${formatTime(refusal.at)} never ran, so nothing of it is to be undone`
  return { status: 409, code: 'nothing-to-roll-back', detail: `nothing to roll back: ${why}${note}` }
}

/** Rejects what a form asks whose page showed another rollback than there is now; null: the same, or no form asks. */
const rejectOutdatedPage = (
  { config: { hash }, previous }: Reloader,
  { from, to }: Pick<ValuesOf<typeof rollbackArgs>, 'from' | 'to'>,
): AdminError | null => {
  const next = previous?.config.hash ?? null
  if ((from ?? hash) === hash && (to ?? next) === next) return null
  const now = `now ${hash} runs, and ${next === null ? 'there is nothing to roll back' : `a rollback brings back ${next}`}`
  const shown = `the page showed a rollback from ${from ?? 'what runs'} to ${to ?? 'what ran before'}`
  return { status: 409, code: 'outdated-page', detail: `${shown}, but ${now}: nothing was done; open the page again` }
}

const switchesOffError = ({ switchesOff }: UnforcedRollback): AdminError => ({
  status: 409,
  code: 'switches-off',
  detail: `the rollback would switch off what is on now: ${switchesOff.join(', ')}; nothing has changed. To do so on purpose: lender-gateway rollback --force, or POST /rollback?force`,
  extensions: { switchesOff },
})

const configurationRejected = {
  status: 422,
  code: 'configuration-refused',
  detail: 'the file cannot be taken; what ran before runs on',
}

const endpointsUnreachable = {
  status: 422,
  code: 'endpoints-not-reached',
  detail:
    'no endpoint that the edit brings to a group was reached, or not the keys that it brings; what ran before runs on, and the edit is tried again',
}
