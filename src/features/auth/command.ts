import type { OnlineCheck } from '../../core/cli/built-in-command.ts'

export const onlineChecks: readonly OnlineCheck[] = [
  async (config, locate) => (await import('./tokens/online-check.ts')).checkIssuers(config, locate),
]

export const loadStatusTexts = () => import('./tokens/status-text.ts')
