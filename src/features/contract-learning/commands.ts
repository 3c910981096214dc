import { isAdminError } from '../../core/admin/admin-error.ts'
import {
  applyOverride,
  durationArgument,
  overrideDefaults,
  stoppingError,
} from '../../core/admin/commands/apply-override.ts'
import { flagArgument, type ValuesOf } from '../../core/admin/commands/argument.ts'
import type { Command, CommandGroup } from '../../core/admin/commands/command.ts'
import { paragraphs, spellDuration } from '../../core/admin/commands/phrases.ts'
import { html } from '../../core/admin/html.ts'
import { epochMs } from '../../core/lib/clock.ts'
import { asBoolean, asNullable, asObject, asText, type Decoded } from '../../core/lib/text/decode.ts'
import { type CommandedLearning, getLearningMode } from './primary.ts'
import type { LearningStatus } from './status.ts'

declare module '../../core/admin/commands/command.ts' {
  interface OverviewPlaces {
    readonly contract: LearningStatus | null
  }
}

const args = {
  for: durationArgument('--for <DURATION>', '1h'),
  enums: flagArgument('--enums', 'keep the values of strings that look like enumerations'),
  stop: flagArgument('--stop', 'end it now; what was learned stays'),
}

interface Plan {
  readonly ttlMs: number | null
  readonly enums: boolean
  readonly isByFile: boolean
}

const resultShape = asObject({ learning: asBoolean, enums: asBoolean, until: asNullable(asText) })

type LearnCommandResult = Decoded<typeof resultShape>

const learnCommand: Command<ValuesOf<typeof args>, Plan, LearnCommandResult> = {
  ...overrideDefaults,
  choice: 'learn',
  page: 'learn-contract',
  path: '/contract/learn',
  plan({ draining, reloader, parts }, { for: ttlMs, enums, stop }) {
    if (draining()) return stoppingError
    const isByFile = reloader.config.contract?.learn === true
    if (!stop) return { ttlMs, enums, isByFile }
    if (parts['contract-learning'].learning.get('contract') !== null) return { ttlMs: null, enums: false, isByFile }
    const detail = isByFile
      ? 'contract.learn is true in the file: write contract.learn: false there'
      : 'no contract is learned now; an earlier draft stays'
    return { status: 409, code: 'not-learning', detail }
  },
  confirmation: (_, { ttlMs, enums, isByFile }) =>
    ttlMs === null
      ? {
          title: 'Stop learning the contract?',
          what: paragraphs(
            'What was learned stays, and can be printed as a draft.',
            isByFile && 'contract.learn is true in the file, so learning continues as the file says.',
          ),
          ttlMs,
          button: 'Stop learning',
        }
      : {
          title: 'Learn the contract?',
          what: paragraphs(
            html`For ${spellDuration(ttlMs)} the shape of requests and responses is learned${enums && ', with the values of strings that look like enumerations'}. No other value is kept, and no client notices.`,
            'What was learned before is forgotten.',
          ),
          ttlMs,
          ttlName: 'for',
          button: 'Learn it',
        },
  async run(context, { ttlMs, enums }, { by, apply }) {
    const { learning } = context.parts['contract-learning']
    const state: CommandedLearning = { enums, setAt: epochMs() }
    const change = { key: 'contract', state, ttlMs, by, reason: null } as const
    const applied = await applyOverride(context, learning, change, apply)
    if (isAdminError(applied)) return applied
    const mode = getLearningMode(context.reloader.config, learning)
    return { learning: mode !== null, enums: mode?.enums ?? false, until: applied.until }
  },
  event: 'contract learning',
  successText: (result) => `${describeResult(result).replace('the', 'The')}.`,
  cliText: (_, result) => describeResult(result),
  responseShape: resultShape,
  links: {
    contract: (learning) => {
      if (learning === null) return { query: {}, words: 'Learn it' }
      return learning.by === 'operator' ? { query: { stop: 'true' }, words: 'Stop learning' } : null
    },
  },
}

function describeResult({ learning, until }: LearnCommandResult): string {
  if (until !== null) return `the contract is learned again until ${until}`
  return learning ? 'the contract is learned as the file says' : 'the contract is not learned any more; the draft stays'
}

const contractCommands: CommandGroup = {
  name: 'learn',
  parent: 'contract',
  description: 'Have a running gateway learn the contract from traffic, for a while.',
  choice: null,
  args,
  help: `What was learned before is forgotten. When the time is over, the draft stays until the gateway learns again or restarts; "contract draft"
prints it. No value is kept, except those of enumerations with --enums.`,
  exitCodes:
    '0 done, 1 the gateway rejects the command or a worker does not reply (then nothing has changed), 2 the gateway did not respond',
  examples: ['contract learn --for 1h', 'contract learn --for 24h --enums', 'contract learn --stop'],
  commands: [learnCommand],
}

export const operatorCommands: readonly CommandGroup[] = [contractCommands]
