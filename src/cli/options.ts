import { Option } from 'commander'

/** Names the ways in which a command prints: for people, or for programs. */
export type Format = 'text' | 'json'

/** Makes the option `--format`. */
export const formatOption = (): Option =>
  new Option('--format <FORMAT>', 'how to print').choices(['text', 'json'] satisfies Format[]).default('text')

/** Names the configuration file that a command uses when none is given. */
export const defaultFile = 'config/gateway.yaml'
