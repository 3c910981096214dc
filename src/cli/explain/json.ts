import type { Live } from '../gateway/live.ts'
import type { Setting } from './behind.ts'
import type { Explanation } from './explanation.ts'

/** Writes an explanation for a program: the same facts, one object; a setting that is built in has no line. `live` is there when it was asked for. */
export const explanationJson = (explanation: Explanation, live: Live | null = null): string => {
  const { method, target, file, hash, operation, query, authority, refused, behind } = explanation
  const place = ({ origin }: Pick<Setting, 'origin'>) => ({
    level: origin.source,
    line: origin.line === 0 ? null : origin.line,
    column: origin.line === 0 ? null : origin.column,
  })
  const settings = behind === null ? [] : [...behind.upstream, ...behind.operation, ...behind.everywhere]
  const told = {
    forwarded: refused === null,
    method,
    target,
    file,
    hash,
    refused: refused && {
      status: refused.status,
      code: refused.kind,
      allow: refused.allow,
      why: refused.differs,
      meant: refused.meant?.id ?? null,
      hint: refused.hint,
    },
    operation,
    query,
    authority,
    endpoints: behind?.endpoints.map(({ origin, ...share }) => ({ ...share, ...place({ origin }) })) ?? [],
    weightMeans: behind?.weightMeans ?? null,
    layers:
      behind?.layers.map(({ name, key, value, on, origin }) => ({ name, on, key, value, ...place({ origin }) })) ?? [],
    settings: Object.fromEntries(settings.map(({ key, value, origin }) => [key, { value, ...place({ origin }) }])),
    ...(live === null ? {} : { live: { ...live, at: new Date(live.at).toISOString() } }),
  }
  return `${JSON.stringify(told, null, 2)}\n`
}
