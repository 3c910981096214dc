import type { Feature } from '../../core/feature.ts'

/** Operators take operations and endpoints out of service for a while. */
export const overrides: Feature = {
  name: 'overrides',
  loadOperatorCommands: async () => {
    const [{ operationCommands }, { endpointCommands }] = await Promise.all([
      import('./operation-commands.ts'),
      import('./endpoint-commands.ts'),
    ])
    // In the help, the kill switch precedes the commands about one endpoint.
    return {
      operatorCommands: [endpointCommands, operationCommands],
      commandsInHelp: [operationCommands, endpointCommands],
    }
  },
}
