import { stringify } from 'yaml'

/** Formats plain data as YAML 1.2. What YAML 1.1 would read differently (`no`, `1:30`) is quoted for its readers. */
export const formatYaml = (value: unknown): string =>
  stringify(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1', lineWidth: 120 })
