import type { ConfigChange } from '../../config/diff/diff-values.ts'
import { epochMs } from '../../lib/clock.ts'
import { formatTime, formatTimeOfDay } from '../../lib/text/format-time.ts'
import type { UnforcedRollback } from '../../runtime/reload/reload-history.ts'
import type { Reloader } from '../../runtime/reload/reloader.ts'
import { type AdminError, isAdminError } from '../admin-error.ts'
import { html } from '../html.ts'
import { optionalArgument, textArgument, type ValuesOf } from './argument.ts'
import type { CommandGroup } from './command.ts'
import { operatorCommandLoaders } from './command-part.ts'
import { paragraphs, truncate } from './phrases.ts'
import {
  changesText,
  forceArgument,
  getChangedGroups,
  neverRanText,
  type ReloadCommand,
  reloadDefaults,
  toReloadResult,
} from './reload.ts'

// Only the form sends it: the rollback may be another one since the page was shown.
const shownArgument = optionalArgument(
  textArgument({ usage: '--shown <HASH>', help: 'a configuration as the page showed it', only: 'form' }),
)

const rollbackArgs = {
  ...forceArgument('roll back although this switches off a protection, such as authentication or an enforced contract'),
  from: shownArgument,
  to: shownArgument,
}

const maxShownChanges = 20

const notes = (await operatorCommandLoaders.load()).flatMap(({ rollbackNote }) => rollbackNote ?? [])

const rollbackCommand: ReloadCommand<typeof rollbackArgs> = {
  ...reloadDefaults('rollback'),
  async confirmation({ reloader }) {
    const { running, previous, file, state } = reloader
    if (previous === null) return nothingToRollBack(reloader)
    const { diffConfigs } = await import('../../config/diff/diff-reports.ts')
    const changes = diffConfigs(running, previous)
    const { findLostProtections } = await import('../../runtime/reload/rollback-target.ts')
    const lost = findLostProtections(running.config, previous.config)
    const groups = await getChangedGroups(changes)
    const more = changes.length - maxShownChanges
    return {
      title: 'Roll back the configuration?',
      what: [
        paragraphs(
          lost.length > 0 && html`<strong>This switches off: ${lost.join(', ')}.</strong>`,
          state.rejection !== null &&
            state.rejection.trigger !== 'rollback' &&
            html`<strong>The edit that was rejected at ${formatTimeOfDay(state.rejection.at, epochMs())} never took effect, so this does not undo it.</strong>`,
          html`The configuration before this one takes effect at once: ${previous.config.hash} instead of ${running.config.hash}, ${changesText(changes, groups)}.`,
        ),
        html`<ul>${changes.slice(0, maxShownChanges).map(changeItem)}${more > 0 ? html`<li>${more} more</li>` : null}</ul>\n`,
        paragraphs(
          html`${file} stays as it is, and then differs from the running configuration. The gateway reads it when it changes, or at a reload.`,
          html`The earlier configuration runs with ${keptText(changes)}.`,
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
  cliText: (_, { from, to, changes, neverRan }) =>
    from === to
      ? `unchanged: the configuration before is the running one (${to})`
      : `rolled back: ${from} → ${to}, with ${keptText(changes)}; ${neverRan === null ? 'the file stays as it is; apply it again with: lender-gateway reload' : neverRanText(neverRan)}`,
  plainErrors: ['nothing-to-roll-back', 'switches-off'],
  links: {
    summary: ({ previous }) => (previous === null ? null : { query: {}, words: `Roll back to ${previous}` }),
  },
}

export const rollbackCommands: CommandGroup = {
  name: 'rollback',
  description: 'Make a running gateway return to the configuration before.',
  choice: null,
  args: rollbackArgs,
  help: [
    'Clients, certificates, keys and tokens stay as they are now.',
    ...notes.map(({ help }) => help),
    'The file stays as it is. The gateway reads it again when its content changes, on SIGHUP and by reload.',
  ].join('\n'),
  exitCodes:
    '0 the configuration before is in effect, 1 there is none, it would switch a protection off, or it cannot take effect, 2 the gateway did not respond',
  examples: ['rollback', 'rollback --force', 'rollback --format json'],
  commands: [rollbackCommand],
}

const keptText = (changes: readonly ConfigChange[]): string =>
  notes.map(({ kept }) => kept(changes)).find((each) => each !== null) ??
  'clients, certificates, keys and tokens as they are now'

const changeItem = ({ path, from, to }: ConfigChange) =>
  html`<li><code>${path}</code>: ${formatValue(from)} → ${formatValue(to)}</li>`

const formatValue = (of: unknown): string => truncate(of === null ? 'not set' : JSON.stringify(of), 200)

/** `hasEndedTries`: the rollback ended the retries of an edit that was held back. */
const nothingToRollBack = ({ state: { isFirst, rejection } }: Reloader, hasEndedTries = false): AdminError => {
  const why = isFirst
    ? 'the running configuration is the first since the start'
    : 'the configuration before differs only in clients, certificates, keys and tokens, which a rollback does not change'
  const note = hasEndedTries
    ? '; the edit that was held back never took effect, and is not tried again: correct the file, or run lender-gateway reload'
    : rejection === null || rejection.trigger === 'rollback'
      ? ''
      : `; the edit that was rejected at ${formatTime(rejection.at)} never took effect, so there is nothing to undo`
  return { status: 409, code: 'nothing-to-roll-back', detail: `nothing to roll back: ${why}${note}` }
}

const rejectOutdatedPage = (
  { config: { hash }, previous }: Reloader,
  { from, to }: Pick<ValuesOf<typeof rollbackArgs>, 'from' | 'to'>,
): AdminError | null => {
  const next = previous?.config.hash ?? null
  if ((from ?? hash) === hash && (to ?? next) === next) return null
  const now = `now ${hash} runs, and ${next === null ? 'there is nothing to roll back' : `a rollback returns to ${next}`}`
  const shown = `the page showed a rollback from ${from ?? 'the running configuration'} to ${to ?? 'the configuration before'}`
  return { status: 409, code: 'outdated-page', detail: `${shown}, but ${now}: nothing was done; open the page again` }
}

const switchesOffError = ({ switchesOff }: UnforcedRollback): AdminError => ({
  status: 409,
  code: 'switches-off',
  detail: `the rollback would switch off: ${switchesOff.join(', ')}; nothing has changed. To do so on purpose: lender-gateway rollback --force, or POST /rollback?force`,
  extensions: { switchesOff },
})
