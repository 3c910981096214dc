import { Option } from 'commander'

export type OutputFormat = 'text' | 'json'

export type DocumentFormat = 'yaml' | 'json'

export const createFormatOption = (usual: 'text' | 'yaml' = 'text'): Option =>
  new Option('--format <FORMAT>', 'how to print').choices([usual, 'json']).default(usual)

export const defaultConfigFile = 'config/gateway.yaml'
