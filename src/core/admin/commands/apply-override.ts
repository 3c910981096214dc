import { asNullable, asObject, asText } from '../../lib/text/decode.ts'
import { formatOptionalTime } from '../../lib/text/format-time.ts'
import { durations, formatDuration } from '../../lib/text/units.ts'
import type { Override, TtlOverrides } from '../../runtime/overrides.ts'
import type { AdminContext } from '../admin-context.ts'
import type { AdminError } from '../admin-error.ts'
import type { Argument } from './argument.ts'

export const maxTtlMs = 24 * 3_600_000

export const durationArgument = (usage: string, byDefault: string): Argument<number> => ({
  usage,
  help: 'for how long, at least 1s and at most 24h',
  default: byDefault,
  example: byDefault,
  expected: `a duration from 1s to ${formatDuration(maxTtlMs)}, such as 15m, 30s or 2h`,
  read(value = byDefault) {
    const ms = typeof value === 'string' ? durations.parse(value) : undefined
    return ms === undefined || ms < 1000 || ms > maxTtlMs ? undefined : ms
  },
})

export const ttlArgument = durationArgument('--ttl <DURATION>', '15m')

interface OverrideChange<Key, State> extends Pick<Override<State>, 'state' | 'by' | 'reason'> {
  readonly key: Key
  readonly ttlMs: number | null // null removes the override
}

/** `until` is null if the override was removed. A failure restores the earlier override. */
export const applyOverride = async <Key extends string, State>(
  context: AdminContext,
  overrides: TtlOverrides<Key, State>,
  { key, state, ttlMs, by, reason }: OverrideChange<Key, State>,
  apply: () => Promise<void>,
): Promise<{ readonly until: string | null } | AdminError> => {
  const before = overrides.get(key)
  const set = ttlMs === null ? null : overrides.set(key, state, ttlMs, by, reason)
  if (set === null) overrides.remove(key)
  const failure = await applyOrUndo(context, apply, () => overrides.restore(key, before))
  return failure ?? { until: formatOptionalTime(set?.until) }
}

/** Returns null, or undoes the change and returns why. Rejects with `WorkersNotReplyingError` after the undo. */
export const applyOrUndo = async (
  { draining }: AdminContext,
  apply: () => Promise<void>,
  undo: () => void,
): Promise<AdminError | null> => {
  try {
    await apply()
    return null
  } catch (error) {
    undo()
    if (draining()) return stoppingError
    throw error
  }
}

export const stoppingError: AdminError = {
  status: 503,
  code: 'stopping',
  detail: 'the gateway is stopping: no command takes effect',
}

export const overrideHelp = {
  help: 'The file stays as it is, and applies again when the time is over. For a lasting change, edit the file.',
  exitCodes:
    '0 done, 1 the gateway rejects the command or a worker does not reply (then nothing has changed), 2 the gateway did not respond',
}

export const overrideDefaults = {
  method: 'POST',
  query: null,
  isAtomic: true,
  // Without `state`, any JSON object would pass: a missing `until` counts as null.
  responseShape: asObject({ state: asText, until: asNullable(asText) }),
  rejectedText: 'rejects the command',
} as const

export const overrideReasonPhrase = ({ reason }: { readonly reason: string | null }): string =>
  reason === null ? '' : ` (${reason})`

export const untilOrAsFile = (until: string | null): string =>
  until === null ? 'as the file says' : `until ${until}, then as the file says`
