import type { Feature } from '../../core/feature.ts'

export const tail: Feature = {
  name: 'tail',
  loadAdminPart: async () => {
    const { watchRecentRequests } = await import('./recent-requests.ts')
    return { reports: [{ after: 'rejected', path: '/requests', respond: watchRecentRequests }] }
  },
  loadCommands: () => import('./command.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
}
