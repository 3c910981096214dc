import { Option } from 'commander'

/** The formats of a command's output: for operators, or for programs. */
export type OutputFormat = 'text' | 'json'

/** Makes the option `--format`. */
export const createFormatOption = (): Option =>
  new Option('--format <FORMAT>', 'how to print').choices(['text', 'json'] satisfies OutputFormat[]).default('text')

/** The formats of a document. */
export type DocumentFormat = 'yaml' | 'json'

/** Makes the option `--format` of a command that prints a document. */
export const createDocumentFormatOption = (): Option =>
  new Option('--format <FORMAT>', 'how to print').choices(['yaml', 'json'] satisfies DocumentFormat[]).default('yaml')

/** The configuration file of a command when the operator names none. */
export const defaultConfigFile = 'config/gateway.yaml'
