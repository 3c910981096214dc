import { Option } from 'commander'

/** Names the ways in which a command prints: for people, or for programs. */
export type OutputFormat = 'text' | 'json'

/** Makes the option `--format`. */
export const createFormatOption = (): Option =>
  new Option('--format <FORMAT>', 'how to print').choices(['text', 'json'] satisfies OutputFormat[]).default('text')

/** Names the configuration file that a command uses when none is given. */
export const defaultConfigFile = 'config/gateway.yaml'
