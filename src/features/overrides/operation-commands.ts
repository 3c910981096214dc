import { isAdminError } from '../../core/admin/admin-error.ts'
import {
  applyOverride,
  overrideDefaults,
  overrideHelp,
  overrideReasonPhrase,
  stoppingError,
  ttlArgument,
  untilOrAsFile,
} from '../../core/admin/commands/apply-override.ts'
import { choiceArgument, reasonArgument, type ValuesOf } from '../../core/admin/commands/argument.ts'
import type { Command, CommandGroup } from '../../core/admin/commands/command.ts'
import { paragraphs, spellDuration, untilPhrase } from '../../core/admin/commands/phrases.ts'
import { html } from '../../core/admin/html.ts'
import { allOperations, type Operation, type OperationId } from '../../operations.ts'

const args = {
  operation: {
    ...choiceArgument(
      allOperations.map(({ id }) => id),
      { usage: '<ID>', help: 'which of the nine', example: 'inventory.sync' },
    ),
    read: (value: unknown): Operation | undefined => allOperations.find(({ id }) => id === value),
  },
  ttl: ttlArgument,
  reason: reasonArgument,
}

interface Plan extends Pick<ValuesOf<typeof args>, 'operation' | 'reason'> {
  /** Null: the override ends, because the configuration says the same. */
  readonly ttlMs: number | null
  readonly rejectedByFile: boolean
}

interface OperationCommandResult {
  readonly operation: OperationId
  readonly state: 'reject' | 'serve'
  readonly reason: string | null
  readonly until: string | null
}

type OperationCommand = Command<ValuesOf<typeof args>, Plan, OperationCommandResult>

const stateCommand = (state: OperationCommandResult['state']) =>
  ({
    ...overrideDefaults,
    choice: state,
    page: state,
    path: `/operations/${state}`,
    plan(context, { operation, ttl, reason }) {
      if (context.draining()) return stoppingError
      const rejectedByFile = context.reloader.config.operations[operation.id].state === 'reject'
      return { operation, rejectedByFile, reason, ttlMs: state === 'serve' && !rejectedByFile ? null : ttl }
    },
    async run(context, { operation: { id: operation }, ttlMs, reason }, { by, apply }) {
      const change = { key: operation, state, ttlMs, by, reason }
      const applied = await applyOverride(context, context.overrides.operations, change, apply)
      return isAdminError(applied) ? applied : { operation, state, reason, until: applied.until }
    },
    event: 'operation override',
  }) satisfies Partial<OperationCommand>

const rejectCommand: OperationCommand = {
  ...stateCommand('reject'),
  confirmation: (_, { operation, rejectedByFile, ttlMs }) => ({
    title: `Reject ${operation.id}?`,
    what: paragraphs(
      html`Every client of ${operation.method} ${operation.path} gets 503 for ${spellDuration(ttlMs ?? 0)}, with Retry-After. Requests under way are finished.`,
      rejectedByFile
        ? 'The file rejects its requests as well (state: reject), also after that time.'
        : 'After that time it is served again, as the file says. To end that earlier, serve the operation.',
    ),
    ttlMs,
    asksReason: true,
    button: 'Reject it',
  }),
  successText: ({ operation, until, reason }) =>
    `${operation} is rejected${untilPhrase(until)}${overrideReasonPhrase({ reason })}.`,
  cliText: ({ operation }, { until }) => `${operation} is rejected ${untilOrAsFile(until)}`,
  links: {
    operation: ({ id, state }) => (state === 'serve' ? { query: { operation: id }, words: 'Reject', about: id } : null),
  },
}

const serveCommand: OperationCommand = {
  ...stateCommand('serve'),
  confirmation: (_, { operation: { id, method, path }, ttlMs }) => ({
    title: `Serve ${id}?`,
    what: paragraphs(
      ttlMs === null
        ? html`${method} ${path} is served from now on, as the file says.`
        : html`The file rejects every request to ${id}. ${method} ${path} is served all the same for ${spellDuration(ttlMs)}, and then rejected again.`,
    ),
    ttlMs,
    button: 'Serve it',
  }),
  successText: ({ operation, until, reason }) =>
    `${operation} is served${untilPhrase(until)}${overrideReasonPhrase({ reason })}.`,
  cliText: ({ operation }, { until }) => `${operation} is served ${untilOrAsFile(until)}`,
  links: {
    operation: ({ id, state }) => (state === 'serve' ? null : { query: { operation: id }, words: 'Serve', about: id }),
  },
}

export const operationCommands: CommandGroup = {
  name: 'operation',
  description: 'Take one of the nine out of service for a while, or put it back.',
  choice: { usage: '<STATE>', help: 'what it is to do' },
  args,
  ...overrideHelp,
  examples: ['operation reject inventory.sync --ttl 30m --reason "CHG-4711"', 'operation serve inventory.sync'],
  commands: [rejectCommand, serveCommand],
}
