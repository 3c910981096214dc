import type { Status } from './status.ts'

/** Formats the gateway's identity: `production · gateway-eu-1`; null: the file has none. */
export const formatInstance = (
  instance: Pick<NonNullable<Status['instance']>, 'name' | 'environment'> | null,
): string | null => {
  const words = [instance?.environment, instance?.name].filter((each) => each != null)
  return words.length === 0 ? null : words.join(' · ')
}
