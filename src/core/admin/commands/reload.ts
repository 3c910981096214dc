import type { ConfigChange } from '../../config/diff/diff-values.ts'
import { formatOptionalTime, formatTime } from '../../lib/text/format-time.ts'
import type { ReloadOutcome } from '../../runtime/reload/reload-history.ts'
import type { Reloader } from '../../runtime/reload/reloader.ts'
import type { AdminContext } from '../admin-context.ts'
import { type AdminError, isAdminError } from '../admin-error.ts'
import { type HtmlValue, html } from '../html.ts'
import { type Arguments, badRequest, flagArgument, type ValuesOf } from './argument.ts'
import type { Command, CommandGroup } from './command.ts'
import { actionHref, paragraphs, pluralize, workersNotReplying } from './phrases.ts'

export const forceArgument = (help: string) => ({
  force: flagArgument('--force', help, 'true, or to be left out; nothing was done'),
})

const args = forceArgument('take it although no endpoint that it brings to a group can be reached')

interface ReloadCommandResult extends Omit<Exclude<ReloadOutcome, { result: 'rejected' }>, 'neverRan'> {
  readonly groups: readonly string[]
  /** When the edit still in the file was rejected (RFC 3339): the rollback did not undo it. */
  readonly neverRan: string | null
}

// Only these exact queries skip a check: `force=0` means no.
const forceQueries: ReadonlySet<string> = new Set(['force', 'force=', 'force=true'])

export type ReloadCommand<Args extends Arguments = typeof args> = Command<
  ValuesOf<Args>,
  ValuesOf<Args>,
  ReloadCommandResult
>

export const reloadDefaults = (name: 'reload' | 'rollback') =>
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
    rejectedText: 'rejects the configuration',
  }) satisfies Partial<ReloadCommand>

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

export const reloadCommands: CommandGroup = {
  name: 'reload',
  description: 'Have a running gateway read its file again; tell what changed, or every problem.',
  choice: null,
  args,
  help: null,
  exitCodes:
    '0 what the file says runs, 1 the file is rejected or a worker does not reply, and what ran before runs on, 2 it could not be asked',
  examples: ['reload', 'reload --config /etc/lender-gateway/gateway.yaml', 'reload --force'],
  commands: [reloadCommand],
}

export const toReloadResult = async (outcome: ReloadOutcome): Promise<ReloadCommandResult | AdminError> => {
  if (outcome.result !== 'rejected') {
    const neverRan = formatOptionalTime(outcome.neverRan)
    return { ...outcome, neverRan, groups: await getChangedGroups(outcome.changes) }
  }
  const { hash, problems, held, silentWorkers } = outcome
  const extensions = held === null ? { hash } : { hash, nextTry: formatTime(held.nextTryAt) }
  if (silentWorkers !== null) return { ...workersNotReplying(silentWorkers), problems, extensions }
  return { ...(held === null ? configurationRejected : endpointsUnreachable), problems, extensions }
}

/** Loaded late: the command line loads this module too. */
export const getChangedGroups = async (changes: readonly ConfigChange[]): Promise<readonly string[]> =>
  (await import('../../config/diff/diff-reports.ts')).changedGroups(changes)

export const neverRanText = (rejectedAt: string): string =>
  `the edit that was rejected at ${rejectedAt} never ran, so it is not what was undone`

function appliedText({ result, from, to, changes, groups, switchedOff, neverRan }: ReloadCommandResult): string {
  if (result === 'unchanged') return `Nothing has changed: the file says what runs already (${to}).`
  const off = switchedOff.length > 0 ? ` Switched off: ${switchedOff.join(', ')}.` : ''
  const note = neverRan === null ? '' : ` Note that ${neverRanText(neverRan)}.`
  return `The configuration is ${to} now, and was ${from}: ${changesText(changes, groups)}.${off}${note}`
}

export const changesText = (changes: readonly ConfigChange[], groups: readonly string[]): string =>
  `${pluralize(changes.length, 'change')}${groups.length === 0 ? '' : ` in ${groups.join(', ')}`}`

const preflightNotice = ({ config, state }: Reloader): HtmlValue =>
  config.reload.preflight === 'none'
    ? null
    : html`Endpoints that it brings are tried first: when none of a group can be reached, nothing changes either.${
        state.nextTryAt === null ? null : ' Just now an edit is held back.'
      } <a href="${actionHref('reload', { force: 'true' })}">Take it without trying</a>`

const forceWarning = html`<strong>What it brings is not tried:</strong> clients of a group whose endpoints are not there get errors from then on.`

const configurationRejected = {
  status: 422,
  code: 'configuration-rejected',
  detail: 'the file cannot be taken; what ran before runs on',
}

const endpointsUnreachable = {
  status: 422,
  code: 'endpoints-not-reached',
  detail:
    'no endpoint that the edit brings to a group was reached, or not the keys that it brings; what ran before runs on, and the edit is tried again',
}
