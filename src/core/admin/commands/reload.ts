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

const args = forceArgument('apply the file although a group has new endpoints and none can be reached')

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
        html`${reloader.file} is read again. It ${differs ? 'differs from' : 'is'} the running configuration (${reloader.config.hash}).`,
        'A valid file takes effect at once for new requests; requests under way finish under the earlier configuration. If the file has a problem, nothing changes, and the next page shows each problem with its line.',
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
    from === to ? `unchanged: the file is the running configuration (${to})` : `applied: ${from} → ${to}`,
  links: { summary: () => ({ query: {}, words: 'Reload the file' }) },
}

export const reloadCommands: CommandGroup = {
  name: 'reload',
  description: 'Make a running gateway read its file again, and print what changed, or every problem.',
  choice: null,
  args,
  help: null,
  exitCodes:
    '0 the file is in effect, 1 the file is rejected or a worker does not reply (then the running configuration stays in effect), 2 the gateway did not respond',
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
  `the edit that was rejected at ${rejectedAt} never took effect, so the rollback has not undone it`

function appliedText({ result, from, to, changes, groups, switchedOff, neverRan }: ReloadCommandResult): string {
  if (result === 'unchanged') return `Nothing has changed: the file is the running configuration (${to}).`
  const off = switchedOff.length > 0 ? ` Switched off: ${switchedOff.join(', ')}.` : ''
  const note = neverRan === null ? '' : ` Note that ${neverRanText(neverRan)}.`
  return `The configuration is ${to} now, and was ${from}: ${changesText(changes, groups)}.${off}${note}`
}

export const changesText = (changes: readonly ConfigChange[], groups: readonly string[]): string =>
  `${pluralize(changes.length, 'change')}${groups.length === 0 ? '' : ` in ${groups.join(', ')}`}`

const preflightNotice = ({ config, state }: Reloader): HtmlValue =>
  config.reload.preflight === 'none'
    ? null
    : html`New endpoints are tried first: if none of a group can be reached, nothing changes either.${
        state.nextTryAt === null ? null : ' An edit is held back now.'
      } <a href="${actionHref('reload', { force: 'true' })}">Reload without trying them</a>`

const forceWarning = html`<strong>New endpoints are not tried:</strong> if none of a group can be reached, its clients get errors.`

const configurationRejected = {
  status: 422,
  code: 'configuration-rejected',
  detail: 'the file is rejected; the running configuration stays in effect',
}

const endpointsUnreachable = {
  status: 422,
  code: 'endpoints-not-reached',
  detail:
    'a group has new endpoints and none was reached, or new keys could not be fetched; the running configuration stays in effect, and the edit is tried again',
}
