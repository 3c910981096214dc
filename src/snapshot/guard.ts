import type { AuthConfig, ClientConfig } from '../config/auth-config.ts'
import type { AuthMethod } from '../exchange.ts'
import { apiKey } from '../layers/auth/api-key.ts'
import type { AuthTerms } from '../layers/auth/auth.ts'
import { clientsOf } from '../layers/auth/clients.ts'
import type { Method } from '../layers/auth/method.ts'

/** Makes what guards operations. */
export interface Guard {
  /** Makes what holds for an operation that takes these methods. */
  terms(methods: readonly AuthMethod[]): AuthTerms
}

/** Makes the guard of a configuration, once: its methods and clients are the same for all operations. */
export const guardOf = (config: AuthConfig | null, clientConfigs: readonly ClientConfig[]): Guard => {
  if (config === null) return noGuard
  const clients = clientsOf(clientConfigs)
  const made: Readonly<Record<AuthMethod, Method>> = {
    apiKey: apiKey(config.apiKey.field, clients),
  }
  return {
    terms: (methods) => ({
      methods: methods.map((name) => made[name]),
      forwards: config.credentials === 'forward',
      identityField: config.identityField,
    }),
  }
}

/** Guards nothing, where nothing will be served. */
export const noGuard: Guard = { terms: () => ({ methods: [], forwards: true, identityField: null }) }
