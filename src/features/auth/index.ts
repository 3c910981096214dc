import type { Feature } from '../../core/feature.ts'

export const auth: Feature = {
  name: 'auth',
  needs: ['redis'],
  face: ['auth-provider.ts', 'auth.ts', 'clients/config.ts', 'tokens/replay-cache.ts', 'tokens/token-verifiers.ts'],
  facts: {
    authenticates: ({ auth }) => auth !== null,
    forwardsCredentials: ({ auth }) => auth?.credentials === 'forward',
    clientNames: ({ clients }) => clients.map(({ id }) => id),
    credentialFields: ({ auth }) => [auth?.apiKey.field, auth?.identityField].filter((each) => each != null),
    shapesResponses: (operation, { auth }) => [operation.auth, auth?.identityField, auth?.credentials],
  },
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: async () => ({
    ...(await import('./config.ts')),
    ...(await import('./rules.ts')),
    ...(await import('./warnings.ts')),
  }),
  loadTransfer: () => import('./clients/serialize-clients.ts'),
  loadCommands: async () => ({
    onlineChecks: [async (config, locate) => (await import('./tokens/preflight.ts')).checkIssuers(config, locate)],
    loadExplain: () => import('./explain.ts'),
  }),
  loadOperatorCommands: async () => ({
    rollbackNote: {
      help: 'Where auth was taken out, only admin and listen.tls stay; auth and clients come back as they were.',
      kept: (changes) =>
        changes.some(({ path, from }) => path === 'auth' && from === 'none')
          ? 'admin and listen.tls as they are now, auth and clients as they were'
          : null,
    },
  }),
  loadPrimaryPart: () => import('./primary.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  isUsed: ({ config }) => config.auth !== null,
  loadStatusPart: () => import('./status.ts'),
}
