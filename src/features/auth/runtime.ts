import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import type { Operation } from '../../operations.ts'
import { sharingRole } from '../redis/batched-calls.ts'
import { authLayer, stripIdentityHeaderLayer } from './auth.ts'
import { type AuthProvider, createAuthProvider } from './auth-provider.ts'
import { ClientActivity } from './client-activity.ts'
import type { OperationAuthConfig } from './config.ts'
import { createReplayCaches, type FirstUseQuery } from './tokens/replay-cache.ts'
import { createTokenVerifiers, type KeysHandover } from './tokens/token-verifiers.ts'

interface AuthPart extends SnapshotPart {
  /** Null: `auth` is off. */
  readonly provider: AuthProvider | null
  readonly clientActivity: ClientActivity
}

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly auth?: AuthPart
  }
}

/** `provider` null: the process serves no traffic. */
const layerRows = ({ id }: Operation, { auth, operations }: Config, provider: AuthProvider | null) => [
  layerRow('identity-field', 'auth.identityField', auth?.identityField ?? null, String, stripIdentityHeaderLayer),
  layerRow('auth', `operations.${id}.auth`, operations[id].auth, formatAuth, (rules) =>
    provider === null ? rejectAll : authLayer(provider.authOptions(rules)),
  ),
]

const rejectAll: Layer = () => () => Promise.reject(new Error('this process serves no traffic'))

const formatAuth = ({ methods, scopes, claims }: OperationAuthConfig): string => {
  const claimTexts = Object.entries(claims).map(([name, value]) => `${name}: ${value}`)
  const required = [...scopes.map((scope) => `scope ${scope}`), ...claimTexts]
  return methods.join(', ') + (required.length === 0 ? '' : ` with ${required.join(', ')}`)
}

export const describe: RuntimePart['describe'] = (config) => ({
  layers: (operation) => layerRows(operation, config, null),
})

export const open: RuntimePart['open'] = ({ place, channel, logEvent, parts: { redis } }) => {
  const verifiers = createTokenVerifiers(logEvent, (keys) => channel.notify(keys))
  const clientActivity = new ClientActivity()
  const { role } = place
  const replayCaches = createReplayCaches(sharingRole(role, channel), redis.counts)
  return {
    receive(keys, from) {
      verifiers.adoptKeys(keys as KeysHandover)
      if (role === 'primary') channel.notify(keys, { except: from })
    },
    handOver: verifiers.keysToHandOver,
    reply: (uses) => replayCaches.recordAll(uses as readonly FirstUseQuery[]),
    acquire({ config }): AuthPart {
      const provider = createAuthProvider(config, verifiers, replayCaches)
      return {
        clientActivity,
        provider,
        layers: (operation) => layerRows(operation, config, provider),
        observer: config.auth && clientActivity,
        release: () => provider?.release(),
      }
    },
  }
}
