import type { Config } from '../../core/config/config.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import type { Operation } from '../../operations.ts'
import { authLayer, stripIdentityHeaderLayer } from './auth.ts'
import { type AuthProvider, createAuthProvider, nullAuthProvider } from './auth-provider.ts'
import { ClientActivity } from './client-activity.ts'
import type { OperationAuthConfig } from './config.ts'
import { ReplayCacheRegistry } from './tokens/replay-cache.ts'
import { type KeysHandover, TokenVerifiers } from './tokens/token-verifiers.ts'

interface AuthPart extends SnapshotPart, Pick<AuthProvider, 'state' | 'sharedProofs'> {
  /** Recent activity of authenticated clients, shared by all snapshots of a process. */
  readonly clientActivity: ClientActivity
}

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly auth: AuthPart
  }
}

const layerRows = (
  { id }: Operation,
  { auth, operations }: Config,
  { authOptions }: AuthProvider,
): readonly LayerRow[] => [
  layerRow('identity-field', 'auth.identityField', auth?.identityField ?? null, String, stripIdentityHeaderLayer),
  layerRow('auth', `operations.${id}.auth`, operations[id].auth, formatAuth, (rules) => authLayer(authOptions(rules))),
]

const formatAuth = ({ methods, scopes, claims }: OperationAuthConfig): string => {
  const claimTexts = Object.entries(claims).map(([name, value]) => `${name}: ${value}`)
  const required = [...scopes.map((scope) => `scope ${scope}`), ...claimTexts]
  return methods.join(', ') + (required.length === 0 ? '' : ` with ${required.join(', ')}`)
}

export const describe: RuntimePart['describe'] = (config) => ({
  layers: (operation) => layerRows(operation, config, nullAuthProvider),
})

export const open: RuntimePart['open'] = ({ place, channel, logEvent, parts: { redis } }) => {
  const verifiers = new TokenVerifiers(logEvent, (keys) => channel.notify(keys))
  const clientActivity = new ClientActivity()
  const { role } = place
  const replayCaches = new ReplayCacheRegistry(
    role === 'worker' ? { kind: role, askPrimary: (uses) => channel.ask(uses) } : { kind: role },
    redis.counts,
  )
  return {
    receive(keys, from) {
      verifiers.adoptKeys(keys as KeysHandover)
      if (role === 'primary') channel.notify(keys, { except: from })
    },
    handOver: () => verifiers.keysToHandOver,
    answer: (uses) => replayCaches.recordAll(uses as readonly string[]),
    acquire({ config }): AuthPart {
      const provider = createAuthProvider(config, verifiers, replayCaches)
      return {
        clientActivity,
        state: provider.state,
        sharedProofs: provider.sharedProofs,
        layers: (operation) => layerRows(operation, config, provider),
        observer: config.auth && clientActivity,
        release: provider.release,
      }
    },
  }
}
