import type { AdminContext } from '../../../core/admin/admin-context.ts'
import type { AdminError } from '../../../core/admin/admin-error.ts'
import {
  applyOrUndo,
  durationArgument,
  overrideDefaults,
  stoppingError,
} from '../../../core/admin/commands/apply-override.ts'
import {
  type Argument,
  choiceArgument,
  flagArgument,
  optionalArgument,
  reasonArgument,
  type ValuesOf,
} from '../../../core/admin/commands/argument.ts'
import type { Command, CommandConfirmation, CommandGroup, CommandLink } from '../../../core/admin/commands/command.ts'
import { paragraphs, spellDuration } from '../../../core/admin/commands/phrases.ts'
import { html } from '../../../core/admin/html.ts'
import type { Config } from '../../../core/config/config.ts'
import { describeSide } from '../../../core/exchange/sides.ts'
import { asNullable, asObject, asText, type Decoded } from '../../../core/lib/text/decode.ts'
import { formatDuration, formatPercent, percentages } from '../../../core/lib/text/units.ts'
import type { StatusReport } from '../../../core/runtime/status/status-part.ts'
import { type Group, groups } from '../../../operations.ts'
import { clientConsequences, findCandidateClients } from '../candidate-clients.ts'
import type { ShiftCommand } from '../shift/shift-record.ts'
import {
  describeAfterwards,
  describeShift,
  isResumable,
  type ShiftState,
  type ShiftStatus,
  shiftField,
} from '../shift/shift-state.ts'
import type { Shifts } from '../shift/shifts.ts'

declare module '../../../core/admin/commands/command.ts' {
  interface OverviewPlaces {
    readonly candidate: { readonly group: Group; readonly shift: ShiftStatus }
  }
}

const defaultShiftMs = 3_600_000

const { default: _, ...anyDuration } = durationArgument('--for <DURATION>', formatDuration(defaultShiftMs))

const percentArgument: Argument<number> = {
  usage: '--to <SHARE>',
  help: 'the part of the clients that goes to the candidate, for a while',
  expected: '0%, or a percentage from 0.01% to 100%',
  example: '25%',
  read(value) {
    const share = typeof value === 'string' ? percentages.parse(value) : undefined
    return share === undefined || share > 1 || (share > 0 && share < 0.0001) ? undefined : share
  },
}

export const shiftArguments = {
  group: choiceArgument(groups, { usage: '<GROUP>', help: 'whose candidate', example: 'risk' }),
  to: optionalArgument(percentArgument),
  for: optionalArgument({
    ...anyDuration,
    help: `for how long --to holds (default: ${formatDuration(defaultShiftMs)}), or --pause (default: until --resume); from 1s to 24h`,
  }),
  pause: flagArgument('--pause', 'the steps stop at the present share'),
  resume: flagArgument('--resume', 'the file decides again; after a takeback or an abort, the steps start again'),
  abort: flagArgument('--abort', 'nothing goes to the candidate until an operator resumes it'),
  reason: reasonArgument,
  force: flagArgument('--force', 'also when no endpoint of the candidate is up'),
}

const resultShape = asObject({
  group: asText,
  /** A share, `pause`, `resume` or `abort`. */
  command: asText,
  by: asText,
  reason: asNullable(asText),
  shift: shiftField.decode,
})

type ShiftWishes = ValuesOf<typeof shiftArguments>

interface PlannedShift {
  readonly group: Group
  readonly command: ShiftCommand
  readonly reason: string | null
  readonly before: ShiftState
  readonly after: ShiftState
}

export const planShift = (
  shifts: Pick<Shifts, 'get' | 'preview'>,
  config: Pick<Config, 'upstreams'>,
  report: Pick<StatusReport, 'upstreams'>,
  { group, reason, force, ...wishes }: ShiftWishes,
): PlannedShift | AdminError => {
  const reject = (code: string, detail: string): AdminError => ({ status: 409, code, detail })
  const command = chooseCommand(wishes)
  const [before, after] = [shifts.get(group), shifts.preview(group, command)]
  if (before === null || after === null)
    return reject('no-candidate', `${group} has no candidate: write upstreams.${group}.candidate in the file`)
  const { step } = before
  if (command.kind === 'pause' && step?.nextShare == null) {
    const why = step === null ? 'the file has none' : 'the last one is reached'
    return reject('no-steps', `${group} has no steps to pause: ${why}`)
  }
  if (command.kind === 'resume' && !isResumable(before.isStopped, before))
    return reject('nothing-to-resume', `nothing to resume: the candidate of ${group} follows the file already`)
  const clients = findCandidateClients(config.upstreams[group].candidate, after)
  const endpoints = report.upstreams[group].candidate?.endpoints ?? []
  // An endpoint that fails but is not ejected may have had a hiccup.
  const isUp = endpoints.some(({ state: { name } }) => name === 'up' || name === 'failing')
  if (force || isUp || clients === 'none' || !sendsMore(before, after)) return { group, command, reason, before, after }
  const states = endpoints.map(({ url, state }) => `${url} is ${state.name}`).join(', ')
  const detail = `no endpoint of ${describeSide(group, 'candidate')} is up (${states})${clientConsequences[clients]}: force (--force) sends more clients there all the same`
  return reject('candidate-down', detail)
}

const chooseCommand = ({
  to,
  for: ttlMs,
  pause,
  resume,
}: Omit<ShiftWishes, 'group' | 'reason' | 'force'>): ShiftCommand => {
  if (to !== null) return { kind: 'to', share: to, ttlMs: ttlMs ?? defaultShiftMs }
  if (pause) return { kind: 'pause', ttlMs }
  return { kind: resume ? 'resume' : 'abort' }
}

const sendsMore = (before: ShiftState, after: ShiftState): boolean =>
  after.share > before.share ||
  (before.isStopped && !after.isStopped) || // the clients that the file names come back
  (before.step?.nextAt == null && after.step?.nextAt != null)

const shiftCommand: Command<ShiftWishes, PlannedShift, Decoded<typeof resultShape>> = {
  ...overrideDefaults,
  choice: 'shift',
  page: 'shift',
  path: '/shift',
  validate({ to, for: ttlMs, pause, resume, abort }, name) {
    const commands = [to !== null && 'to', pause && 'pause', resume && 'resume', abort && 'abort']
    const [command, ...others] = commands.filter((each) => each !== false)
    if (command === undefined || others.length > 0)
      return `one of ${name('to')}, ${name('pause')}, ${name('resume')} and ${name('abort')} is expected`
    return ttlMs !== null && (command === 'resume' || command === 'abort')
      ? `${name('for')} is expected with ${name('to')} or ${name('pause')}: ${name(command)} has no end`
      : null
  },
  // It takes effect even beside a worker that hangs.
  isUrgent: ({ abort }) => abort,
  async plan(context, wishes) {
    const report = await context.report() // first: the only wait, so that the rest sees one state
    if (context.draining()) return stoppingError
    return planShift(context.parts.candidate.shifts, context.reloader.config, report, wishes)
  },
  confirmation: (context, planned) => confirmShift(context, planned),
  async run(context, { group, command, reason }, { by, apply }) {
    const change = context.parts.candidate.shifts.command(group, command, { by, reason })
    const failure = await applyOrUndo(context, apply, change.undo)
    if (failure !== null) return failure
    const text = command.kind === 'to' ? formatPercent(command.share) : command.kind
    return { group, command: text, by, reason, shift: shiftField.show(change.confirm(), context) }
  },
  event: 'shift command',
  fields: ({ shift: { share, cause, until, paused }, ...rest }) => ({
    ...rest,
    share: formatPercent(share),
    cause,
    until: until ?? paused?.until ?? null,
  }),
  successText: ({ group, shift }) => `The candidate of ${group} gets ${describeShift(shift)}.`,
  cliText: (_, { group, shift }) => `the candidate of ${group} gets ${describeShift(shift)}`,
  responseShape: resultShape,
  links: {
    candidate: ({ group, shift }) => {
      const link = (name: string, words: string, value = 'true'): CommandLink => ({
        query: { group, [name]: value },
        words,
        about: `the candidate of ${group}`,
      })
      const next = listShareChoices(shift).find((share) => share > shift.share)
      return [
        ...(next === undefined ? [] : [link('to', `To ${formatPercent(next)}`, formatPercent(next))]),
        ...(shift.step?.nextShare != null && shift.paused === null && !shift.stopped ? [link('pause', 'Pause')] : []),
        ...(isResumable(shift.stopped, shift) ? [link('resume', 'Resume')] : []),
        ...(shift.stopped ? [] : [link('abort', 'Abort')]),
      ]
    },
  },
}

export const shiftCommands: CommandGroup = {
  name: 'shift',
  description: 'Show how much of a group goes to its candidate, or shift clients there and back.',
  choice: null,
  args: shiftArguments,
  help: `Without an option, it shows the present share. A share of --to ends by itself (${formatDuration(defaultShiftMs)} unless --for says otherwise). Then the file decides again: its share,
or its steps, which continue from the share that was reached. --abort has no end. A lasting change belongs in the file.`,
  exitCodes:
    '0 done, 1 the gateway rejects the command or a worker does not reply (then nothing has changed), 2 the gateway did not respond',
  examples: ['shift risk', 'shift risk --to 25% --for 2h --reason "CHG-4711"', 'shift risk --abort'],
  showsWithoutOption: true,
  commands: [shiftCommand],
}

export const operatorCommands: readonly CommandGroup[] = [shiftCommands]

const usualShares: readonly number[] = [0.01, 0.05, 0.25, 0.5, 1]

const listShareChoices = ({ step }: Pick<ShiftStatus, 'step'>): readonly number[] =>
  [...new Set([...usualShares, ...(step?.nextShare == null ? [] : [step.nextShare])])].sort((a, b) => a - b)

const confirmShift = (context: AdminContext, { group, command, before, after }: PlannedShift): CommandConfirmation => {
  const status = shiftField.show(before, context)
  const next = shiftField.show(after, context)
  const now = html`Now it gets ${describeShift(status)}.`
  const asksReason = { ttlMs: null, asksReason: true } as const
  switch (command.kind) {
    case 'to': {
      const { afterwards, paused } = next
      const others = listShareChoices(status).filter((share) => share !== command.share)
      return {
        title: `Shift ${formatPercent(command.share)} of the clients of ${group}?`,
        what: paragraphs(
          html`For ${spellDuration(command.ttlMs)} the candidate of ${group} gets ${formatPercent(command.share)} of the clients. ${command.share >= before.share ? 'The clients that are there stay.' : 'The others go back to the primary.'}`,
          now,
          before.isStopped && 'While the command holds, it takes precedence over that.',
          afterwards !== null && html`After that time it gets ${describeAfterwards(afterwards, paused !== null)}.`,
        ),
        ttlMs: command.ttlMs,
        ttlName: 'for',
        asksReason: true,
        choices: { name: 'to', words: 'Another share', values: others.map(formatPercent) },
        button: 'Shift them',
      }
    }
    case 'pause': {
      const until =
        command.ttlMs === null
          ? 'No further step begins until an operator resumes them.'
          : html`No further step begins for ${spellDuration(command.ttlMs)}.`
      return {
        title: `Pause the steps of ${group}?`,
        what: paragraphs(until, now),
        ...asksReason,
        button: 'Pause them',
      }
    }
    case 'resume': {
      const what = paragraphs(now, html`Then it gets ${describeShift(next)}.`)
      const title = `Resume what the file says of the candidate of ${group}?`
      return { title, what, ...asksReason, button: 'Resume it' }
    }
    case 'abort': {
      const what = paragraphs(
        html`Nothing goes to the candidate of ${group} any more: no share of the clients, no client by name, no copies. Requests under way there are finished.`,
        now,
        'It stays so until an operator resumes it, or the candidate’s part of the file changes.',
      )
      return { title: `Abort the shift of ${group}?`, what, ...asksReason, button: 'Abort it' }
    }
  }
}
