import type { AdminError } from '../../core/admin/admin-error.ts'
import * as argument from '../../core/admin/commands/argument.ts'
import type { Command, CommandGroup } from '../../core/admin/commands/command.ts'
import { noWorkerReplied, paragraphs, pluralize, workersNotReplying } from '../../core/admin/commands/phrases.ts'
import { html } from '../../core/admin/html.ts'
import { asNumber, asObject } from '../../core/lib/text/decode.ts'
import type { Status } from '../../core/runtime/status/status-part.ts'
import { allOperations } from '../../operations.ts'
import type { PurgeScope } from './store/cache-store.ts'

declare module '../../core/admin/commands/command.ts' {
  interface OverviewPlaces {
    readonly cache: NonNullable<Status['cache']>
    readonly cached: string
  }
}

const reads = allOperations.flatMap(({ id, method }) => (method === 'GET' ? [id] : []))

const args = {
  operation: argument.optionalArgument(
    argument.choiceArgument(reads, { usage: '[OPERATION]', help: 'the operation; default: all' }),
  ),
  client: argument.optionalArgument(
    argument.textArgument({
      usage: '--client <ID>',
      help: 'only responses stored for this client; empty: for requests without a client',
      only: 'script',
    }),
  ),
}

type PurgeCommandResult = Readonly<Record<keyof PurgeScope, string | null>> & { readonly removed: number }

/** Responses that are still arriving are not stored either. */
const purgeCommand: Command<argument.ValuesOf<typeof args>, PurgeScope, PurgeCommandResult> = {
  choice: 'clear',
  page: 'clear-cache',
  method: 'DELETE',
  path: '/cache',
  query: (query) =>
    argument.parseFields(
      Object.keys(args),
      new URLSearchParams(query),
      '; write ?operation=…&client=…, each once at most',
    ),
  isAtomic: false,
  async plan({ reloader }, { operation, client }) {
    const error = client ? await argument.rejectUnknownClient(client, reloader.config) : null
    return error ?? { operation, client }
  },
  async confirmation(context, { operation }) {
    const { cache } = await context.report()
    return {
      title: operation === null ? 'Clear the cache?' : `Clear the cache of ${operation}?`,
      what: paragraphs(
        html`All stored responses ${operation === null ? null : html`of ${operation} `}are removed, for every client. The next requests go to the upstreams, whose load grows until responses are stored again.`,
        cache === null ? 'Nothing is cached at present.' : null,
        'This cannot be undone.',
      ),
      ttlMs: null,
      button: 'Clear it',
    }
  },
  async run(context, scope) {
    // Also when the cache is off now: otherwise Redis's entries return with it.
    const { results, silent } = await context.runEverywhere('purge', scope)
    if (results.length === 0 && silent === 0) {
      const isOff = Object.values(context.reloader.config.operations).every(({ cache }) => cache === null)
      // Workers' memory is gone, but Redis keeps its entries.
      return isOff ? { ...scope, removed: 0 } : noWorkerReplied
    }
    const removed = results.reduce((sum, each) => sum + each.removed, 0)
    const done = { ...scope, removed }
    if (silent > 0) return { ...workersUnavailable(removed, silent), done }
    return results.every(({ isSharedPurged }) => isSharedPurged) ? done : { ...redisUnavailable(removed), done }
  },
  event: 'cache cleared',
  successText: (done) => `The ${clearedText(done)}.`,
  cliText: ({ operation = null, client = null }, { removed }) => `the ${clearedText({ operation, client, removed })}`,
  responseShape: asObject({ removed: asNumber }),
  rejectedText: 'has not removed all responses',
  links: {
    cache: () => ({ query: {}, words: 'Clear the cache' }),
    cached: (operation) => ({ query: { operation }, words: 'Clear', about: `the stored responses of ${operation}` }),
  },
}

export const cacheCommands: CommandGroup = {
  name: 'cache',
  description: 'Have a running gateway remove stored responses.',
  choice: { usage: '<ACTION>', help: 'what it is to do' },
  args,
  help: `Stored responses are removed: all, or those of an operation or a client. Responses that arrive meanwhile are served but not stored. Other gateways’
memory keeps its responses.`,
  exitCodes: '0 done, 1 the gateway could not do all of it, or knows no such client, 2 the gateway did not respond',
  examples: ['cache clear market.insights', 'cache clear --client bank-a'],
  commands: [purgeCommand],
}

const clearedText = ({ operation, client, removed }: PurgeCommandResult): string => {
  const of = operation === null ? '' : ` of ${operation}`
  const whose = client === null ? '' : client === '' ? ' for requests without a client' : ` for ${client}`
  return `cache${of} is cleared${whose}: ${pluralize(removed, 'response')} removed`
}

const workersUnavailable = (removed: number, silent: number): AdminError =>
  workersNotReplying(
    `${removed} were removed, but ${silent} of the workers did not reply: they may still serve stored responses; repeat the command`,
  )

const redisUnavailable = (removed: number): AdminError => ({
  status: 503,
  code: 'redis-not-replying',
  detail: `${removed} were removed here, but Redis did not reply: other gateways may still find these responses there; this gateway removes them when Redis replies again`,
})

export const operatorCommands: readonly CommandGroup[] = [cacheCommands]
