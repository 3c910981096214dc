import type { Overview } from '../overview.ts'

/** Is something that is wrong, in words. */
export interface Finding {
  readonly severity: 'critical' | 'warning' | 'notice'
  readonly about: string
  readonly cause: string
  readonly since: string | null
  readonly command: string | null
}

/** Takes what is wrong out of the status, the worst first. */
export const found = ({ status }: Overview): readonly Finding[] => {
  const { findings = [] } = status as { readonly findings?: readonly Finding[] }
  return findings
}
