import type { AdminContext } from '../../core/admin/admin-context.ts'
import { type AdminError, isAdminError } from '../../core/admin/admin-error.ts'
import * as argument from '../../core/admin/commands/argument.ts'
import type { Command, CommandGroup } from '../../core/admin/commands/command.ts'
import { noWorkerReplied } from '../../core/admin/commands/phrases.ts'
import type { Config } from '../../core/config/config.ts'
import { authenticates } from '../../core/config/config-facts.ts'
import { isIP } from '../../core/lib/net/addresses.ts'
import { asNullable, asNumber, asObject, asText, asWord, type Decoded } from '../../core/lib/text/decode.ts'
import { formatTime } from '../../core/lib/text/format-time.ts'
import { allOperations } from '../../operations.ts'
import type { KeyReference, LookupFailure } from './runtime.ts'
import type { RecordSummary } from './store/idempotency-store.ts'

const addressArgument: argument.Argument<string> = {
  usage: '--address <IP>',
  help: 'the owner of the key without auth: the address in the access log',
  expected: 'an IP address',
  example: '192.0.2.7',
  read: (value) => (typeof value === 'string' && isIP(value) !== 0 ? value : undefined),
}

const args = {
  key: argument.textArgument({ usage: '<KEY>', help: 'as in the request, quoted or bare', example: '8e03978e-40d5' }),
  operation: argument.choiceArgument(
    allOperations.flatMap(({ id, method }) => (method === 'POST' ? [id] : [])),
    {
      usage: '--operation <ID>',
      help: 'the operation of the request',
      example: 'financing.pre-approval',
      isRequired: true,
    },
  ),
  client: argument.optionalArgument(
    argument.textArgument({
      usage: '--client <NAME>',
      help: 'the owner of the key: its id in clients',
      example: 'bank-a',
    }),
  ),
  address: argument.optionalArgument(addressArgument),
  yes: argument.flagArgument('--yes', 'forget it: the upstream has not processed the request, or may process it again'),
}

/** Times are RFC 3339. Null: no record; or no id, in progress, or no stored response. */
const keySummaryShape = asObject({
  state: asWord<RecordSummary['state'] | 'absent'>(),
  firstRequestId: asNullable(asText),
  claimedAt: asNullable(asText),
  expiresAt: asNullable(asText),
  responseBytes: asNullable(asNumber),
})

type KeySummary = Decoded<typeof keySummaryShape>

type ShownKey = KeySummary & Pick<KeyValues, 'operation' | 'client' | 'address'>

interface Plan {
  readonly reference: KeyReference
  readonly shown: ShownKey
}

type KeyValues = argument.ValuesOf<typeof args>

type KeyCommand = Command<KeyValues, Plan, ShownKey>

/** `page: null`: a page's URL must not have a client's key. */
const keyCommand = {
  page: null,
  method: 'POST',
  query: null,
  validate: ({ client, address }, name) =>
    (client === null) === (address === null)
      ? `either ${name('client')} or ${name('address')} is expected: whose key it is`
      : null,
  isAtomic: false,
  responseShape: keySummaryShape,
  links: {},
} as const satisfies Partial<KeyCommand>

const showCommand: KeyCommand = {
  ...keyCommand,
  choice: 'show',
  path: '/idempotency/show',
  plan: planLookup,
  onlyShows: true,
  run: async (_, { shown }) => shown,
  event: 'idempotency key shown',
  successText: describeKey,
  cliText: (_, shown) => describeKey(shown),
  rejectedText: 'cannot show it',
}

const forgetCommand: KeyCommand = {
  ...keyCommand,
  choice: 'forget',
  path: '/idempotency/forget',
  async plan(context, values) {
    const plan = await planLookup(context, values)
    if (isAdminError(plan)) return plan
    return rejectForgetting(plan.shown, values.yes) ?? plan
  },
  async run(context, { reference, shown }) {
    const [result] = (await context.runEverywhere('forgetKey', reference)).results
    if (typeof result === 'boolean') return result ? shown : notRemembered
    if (result === 'in-progress') return stillUnderWay
    const error = toLookupError(result, reference)
    // Without a reply, the command may have run or may still run, and the event says so.
    if (result !== undefined && result !== 'unavailable') return error
    const detail = `${error.detail}. The key may still be forgotten, now or later: run idempotency show`
    return { ...error, detail, done: { ...shown } }
  },
  event: 'idempotency key forgotten',
  successText: describeForgotten,
  cliText: (_, shown) => describeForgotten(shown),
  rejectedText: 'has not forgotten it',
}

export const idempotencyCommands: CommandGroup = {
  name: 'idempotency',
  description: 'Show or forget an idempotency key in a running gateway.',
  choice: { usage: '<ACTION>', help: 'what it is to do' },
  args,
  help: `The owner of the key: --client where the operation has auth, --address where auth is none and the request had no credentials. Without auth, a client
with credentials cannot be named: the gateway stores their digest, and a secret does not belong on a command line.
A request whose key was forgotten is processed again. Ask the upstream first, by the id of the first request.`,
  exitCodes:
    '0 done, 1 the gateway does not do it (no request has such an owner, there is nothing to forget, or --yes is missing), 2 the gateway did not respond',
  examples: [
    'idempotency show 8e03978e-40d5 --operation financing.pre-approval --client bank-a',
    'idempotency forget 8e03978e-40d5 --operation financing.pre-approval --client bank-a --yes',
  ],
  commands: [showCommand, forgetCommand],
}

async function planLookup(
  context: AdminContext,
  { key, operation, client, address }: KeyValues,
): Promise<Plan | AdminError> {
  const reference: KeyReference = { operation, key, owner: address === null ? { client: client ?? '' } : { address } }
  if (context.reloader.config.operations[operation].idempotency === null) return toLookupError('off', reference)
  const [record] = (await context.runEverywhere('findKey', reference)).results
  if (record === undefined || typeof record === 'string') return toLookupError(record, reference)
  // A record is shown even if its client was removed or `auth` changed since.
  const wrongOwner = record === false ? await rejectOwner(reference, context.reloader.config) : null
  return wrongOwner ?? { reference, shown: { operation, client, address, ...summarize(record) } }
}

/** Null: keys of the operation can belong to such an owner. */
const rejectOwner = async ({ operation, owner }: KeyReference, config: Config): Promise<AdminError | null> => {
  const isAsked = authenticates(config.operations[operation])
  if ('client' in owner && isAsked) return argument.rejectUnknownClient(owner.client, config)
  if ('client' in owner)
    return argument.badRequest(`client: ${operation} does not authenticate clients; write --address`)
  if (!isAsked) return null
  return argument.badRequest(`address: ${operation} authenticates clients; write --client`)
}

const summarize = (record: RecordSummary | false): KeySummary => {
  if (record === false)
    return { state: 'absent', firstRequestId: null, claimedAt: null, expiresAt: null, responseBytes: null }
  const { state, requestId, responseBytes } = record
  const claimedAt = formatTime(record.claimedAt)
  const expiresAt = state === 'in-progress' ? null : formatTime(record.expiresAt)
  return { state, firstRequestId: requestId || null, claimedAt, expiresAt, responseBytes }
}

/** `failure` undefined: no process has replied. */
const toLookupError = (failure: LookupFailure | undefined, { operation }: KeyReference): AdminError => {
  if (failure === undefined) return noWorkerReplied
  if (failure === 'malformed')
    return argument.badRequest('key is expected to be valid for the operation: not empty, at most maxKey characters')
  if (failure === 'off') {
    const detail = `operations.${operation} has no idempotency, so it stores no keys`
    return { status: 409, code: 'no-idempotency', detail }
  }
  const detail = 'the store of idempotency keys does not reply; for the reason: lender-gateway status'
  return { status: 503, code: 'idempotency-unavailable', detail }
}

const absent = 'the gateway has no record of this key: a request with it is forwarded'

const notRemembered: AdminError = { status: 409, code: 'not-remembered', detail: absent }

const stillUnderWay: AdminError = {
  status: 409,
  code: 'in-progress',
  detail: 'the first request with this key is in progress: wait until it ends, or 15 s if its gateway has stopped',
}

const rejectForgetting = (shown: KeySummary, isConfirmed: boolean): AdminError | null => {
  if (shown.state === 'absent') return notRemembered
  if (shown.state === 'in-progress') return stillUnderWay
  if (isConfirmed) return null
  const detail = `${describeKey(shown)}. If it is forgotten, a request with it is processed again. To forget it, repeat this with --yes (yes: true in JSON)`
  return { status: 409, code: 'not-confirmed', detail }
}

const stateTexts: Readonly<Record<KeySummary['state'], string>> = {
  absent,
  'in-progress': 'the first request with this key is in progress',
  unknown: 'the outcome of the first request with this key is unknown',
  done: 'the first request with this key was processed',
  unreadable:
    'the first request with this key was processed, but its response cannot be decrypted, so a repetition gets 409 outcome-unknown',
}

function describeKey({ state, firstRequestId, claimedAt, expiresAt, responseBytes }: KeySummary): string {
  if (state === 'absent') return absent
  const until = expiresAt === null ? '' : `, remembered until ${expiresAt}`
  const response = responseBytes === null ? 'no response is stored' : `${responseBytes} bytes of response are stored`
  const came = `its id is ${firstRequestId ?? 'not known'}, it came at ${claimedAt}`
  return `${stateTexts[state]}; ${came}${until}${state === 'done' ? `, ${response}` : ''}`
}

function describeForgotten({ firstRequestId }: KeySummary): string {
  return `the key is forgotten, a request with it is forwarded; the id of the first was ${firstRequestId ?? 'not known'}`
}

export const operatorCommands: readonly CommandGroup[] = [idempotencyCommands]
