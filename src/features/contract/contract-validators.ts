import type { Config } from '../../core/config/config.ts'
import { type ContractValidators, createValidators } from './check/validators.ts'

/** The validators of the contract that runs. One for each process: an edit of something else keeps them. */
export class ContractValidatorsCache {
  #last: { readonly digest: string; readonly validators: ContractValidators } | null = null

  get({ compiledContract, operations }: Config): ContractValidators | null {
    const isUsed = Object.values(operations).some(
      ({ contract: { request, response } }) => request !== 'off' || response !== 'off',
    )
    if (compiledContract === null || !isUsed) return null
    if (this.#last?.digest !== compiledContract.digest)
      this.#last = { digest: compiledContract.digest, validators: createValidators(compiledContract) }
    return this.#last.validators
  }
}
