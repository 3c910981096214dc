import type { Live } from '../gateway/live/live.ts'
import type { Explanation } from './explanation.ts'

/** Tells whether a request would be forwarded: what an operator says just now goes before the file. */
export const isForwarded = ({ refused }: Explanation, live: Live | null): boolean => {
  const said = live?.operation?.state
  if (said === 'refuse') return false
  return refused === null || (refused.kind === 'refused-by-operator' && said === 'serve')
}
