import type { AuthConfig, ClientConfig, OperationAuthConfig } from './auth-config.ts'
import type { Config } from './config.ts'
import { type Effective, Secret } from './shown.ts'

/** Writes who calls and how that is found out, in the spelling of the file. */
export const identities = ({ auth: given, clients }: Config): { readonly [key: string]: Effective } => ({
  auth: auth(given),
  clients: clients.map(client),
})

/** Writes what one operation asks for. */
export const operationAuth = (config: OperationAuthConfig | null): Effective =>
  config === null ? 'none' : { methods: config.methods }

const auth = (config: AuthConfig | null): Effective =>
  config === null
    ? 'none'
    : {
        methods: config.methods,
        apiKey: config.apiKey,
        credentials: config.credentials,
        identityField: config.identityField ?? 'none',
      }

const client = ({ id, disabled, apiKeys, operations, addresses }: ClientConfig): Effective => ({
  id,
  disabled,
  apiKeys: apiKeys.map(({ id: key, sha256 }) => ({ id: key, sha256: new Secret(sha256) })),
  operations: operations ?? 'all',
  addresses,
})
