import { catalog, type Operation, type OperationId } from '../../catalog.ts'
import { html } from '../page/html.ts'
import { isRefusal } from '../problem.ts'
import { oneOf, ttl, type ValuesOf } from './argument.ts'
import type { Command, CommandGroup } from './command.ts'
import { applyOverride, overrideAnswer, overrideHelp, stopping, thenTheFile } from './override.ts'
import { paragraphs, spoken, untilThen } from './words.ts'

const args = {
  operation: {
    ...oneOf(
      catalog.map(({ id }) => id),
      { usage: '<ID>', help: 'which of the nine', example: 'inventory.sync' },
    ),
    read: (value: unknown): Operation | undefined => catalog.find(({ id }) => id === value),
  },
  ttl,
}

interface Plan {
  readonly operation: Operation
  /** For how long; null: from now on the file's word holds, which is the same. */
  readonly ttlMs: number | null
  /** Whether the file refuses it. */
  readonly byFile: boolean
}

interface Result {
  readonly operation: OperationId
  readonly state: 'refuse' | 'serve'
  /** Null: the file's word holds. */
  readonly until: string | null
}

type OperationCommand = Command<ValuesOf<typeof args>, Plan, Result>

/**
 * Makes what both commands do: the file is not touched, and holds again afterwards. To serve what the file lets serve
 * ends an override at once.
 */
const common = (state: Result['state']) =>
  ({
    ...overrideAnswer,
    choice: state,
    page: state,
    path: `/operations/${state}`,
    plan(desk, { operation, ttl }) {
      if (desk.draining()) return stopping
      const byFile = desk.reloader.config.operations[operation.id].state === 'refuse'
      return { operation, byFile, ttlMs: state === 'serve' && !byFile ? null : ttl }
    },
    async run(desk, { operation: { id: operation }, ttlMs }) {
      const held = await applyOverride(desk, desk.overrides.operations, { key: operation, state, ttlMs })
      return isRefusal(held) ? held : { operation, state, until: held.until }
    },
    event: 'operation override',
  }) satisfies Partial<OperationCommand>

const refuse: OperationCommand = {
  ...common('refuse'),
  confirmation: (_, { operation, byFile, ttlMs }) => ({
    title: `Refuse ${operation.id}?`,
    what: paragraphs(
      html`Every client of ${operation.method} ${operation.path} is answered 503 for ${spoken(ttlMs ?? 0)}, with Retry-After. Requests under way are finished.`,
      byFile
        ? 'The file refuses it as well, and goes on to do so after that time.'
        : 'After that time it serves again, as the file says. To end it before, have it serve.',
    ),
    ttlMs,
    button: 'Refuse it',
  }),
  done: ({ operation, until }) => `${operation} is refused${untilThen(until)}.`,
  printed: ({ operation }, { until }) => `${operation} is refused ${thenTheFile(until)}`,
  links: {
    operation: ({ id, state }) => (state === 'serve' ? { given: { operation: id }, words: 'Refuse', about: id } : null),
  },
}

const serve: OperationCommand = {
  ...common('serve'),
  confirmation: (_, { operation: { id, method, path }, ttlMs }) => ({
    title: `Serve ${id}?`,
    what: paragraphs(
      ttlMs === null
        ? html`${method} ${path} is served from now on, as the file says.`
        : html`The file refuses ${id}. ${method} ${path} is served all the same for ${spoken(ttlMs)}, and then refused again.`,
    ),
    ttlMs,
    button: 'Serve it',
  }),
  done: ({ operation, until }) => `${operation} is served${untilThen(until)}.`,
  printed: ({ operation }, { until }) => `${operation} is served ${thenTheFile(until)}`,
  links: {
    operation: ({ id, state }) => (state === 'serve' ? null : { given: { operation: id }, words: 'Serve', about: id }),
  },
}

/** Takes an operation out of service for a while, or puts it back: the kill switch. */
export const operation: CommandGroup = {
  name: 'operation',
  description: 'Take one of the nine out of service for a while, or put it back.',
  choice: { usage: '<STATE>', help: 'what it is to do' },
  args,
  ...overrideHelp,
  examples: ['operation refuse inventory.sync --ttl 30m', 'operation serve inventory.sync'],
  commands: [refuse, serve],
}
