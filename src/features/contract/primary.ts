import type { Config } from '../../core/config/config.ts'
import { type PlacedProtections, type Protection, protectOperations } from '../../core/runtime/primary-part.ts'
import { allOperations, type OperationId } from '../../operations.ts'
import { enforcesContract } from './check/compiled-contract.ts'
import { messageDirections } from './drift-report.ts'

/** The second argument protects all operations where a configuration enforces nothing. */
const protect = (path: string, isOn: (config: Config, id: OperationId) => boolean): readonly Protection[] =>
  protectOperations(path, isOn, { path, isOn: (config) => allOperations.some(({ id }) => isOn(config, id)) })

export const protections: PlacedProtections = {
  after: 'tls.verify',
  value: [
    ...messageDirections.flatMap((direction) =>
      protect(`contract.${direction}`, (config, id) => enforcesContract(config, id, direction)),
    ),
    ...protect(
      'contract.unchecked',
      (config, id) =>
        config.operations[id].contract.unchecked === 'reject' &&
        messageDirections.some((direction) => enforcesContract(config, id, direction)),
    ),
  ],
}
