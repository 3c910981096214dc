import { asNullable, asText } from '../../lib/text/decode.ts'
import { formatOptionalTime } from '../../lib/text/format-time.ts'
import type { Override } from '../overrides.ts'

/** Null: no operator has overridden the configuration. */
export const orderMembers = {
  /** The operator's name, else the address. */
  orderedBy: asNullable(asText),
  orderedAt: asNullable(asText),
  /** Null: no reason given, or an earlier version. */
  orderReason: asNullable(asText),
}

export const orderStatus = (override: Pick<Override, 'by' | 'since' | 'reason'> | null) => ({
  orderedBy: override?.by ?? null,
  orderedAt: formatOptionalTime(override?.since),
  orderReason: override?.reason ?? null,
})
