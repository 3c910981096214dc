/** Lists the values of a setting of a systemd unit, in their order. */
export const settingsOf = (unit: string, name: string): readonly string[] =>
  unit.split('\n').flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []))

/** Reads a setting that stands once. */
export const settingOf = (unit: string, name: string): string => {
  const [value, ...more] = settingsOf(unit, name)
  if (value === undefined || more.length > 0)
    throw new Error(`${name} stands ${more.length === 0 ? 'nowhere' : 'twice'}`)
  return value
}
