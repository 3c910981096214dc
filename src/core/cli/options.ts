import { Option } from 'commander'

/** The formats of a command's output: for operators, or for programs. */
export type OutputFormat = 'text' | 'json'

/** The formats of a document. */
export type DocumentFormat = 'yaml' | 'json'

/** Makes the option `--format`; `usual` is the format in which operators read it. */
export const createFormatOption = (usual: 'text' | 'yaml' = 'text'): Option =>
  new Option('--format <FORMAT>', 'how to print').choices([usual, 'json']).default(usual)

/** The configuration file of a command when the operator names none. */
export const defaultConfigFile = 'config/gateway.yaml'
