import { dirname } from 'node:path'
import { loadContract } from '../../../features/contract/compile/load-contract.ts'
import { deepFreeze } from '../deep-freeze.ts'
import type { Environment } from '../environment.ts'
import { type LoadResult, noContract, type OpenedConfig, openConfig, parseConfigBytes } from './load.ts'

/**
 * Loads a configuration file: reads, parses, fills in the environment and secrets, validates, resolves, and compiles
 * the contract. Never throws.
 */
export const loadConfig = (file: string, environment: Environment = process.env): LoadResult =>
  complete(openConfig(file, environment), file)

/**
 * Does what {@link loadConfig} does, with the bytes of the file. `file` names it, and is the base of relative names.
 */
export const parseConfig = (bytes: Uint8Array, file: string, environment: Environment): LoadResult =>
  complete(parseConfigBytes(bytes, file, environment), file)

const complete = (opened: OpenedConfig, file: string): LoadResult => {
  const { contractName } = opened
  const result = opened.complete(contractName === undefined ? noContract : loadContract(dirname(file), contractName))
  return result.ok ? { ...result, config: deepFreeze(result.config) } : result
}
