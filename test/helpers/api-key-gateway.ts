import { hash } from 'node:crypto'
import { bootGateway, type Settings, type TestGateway } from './gateway.ts'
import { httpUpstream, type TestUpstream } from './upstream.ts'

const secret = 'A'.repeat(43)

/** The key of the only client. */
export const key = `key.${secret}`

/** Boots a gateway that knows one client, bank-a, by {@link key}, before an upstream that records what it gets. */
export const bootApiKeyGateway = async (
  operations: string | readonly string[] = 'all',
  settings: Settings = {},
): Promise<{ readonly gateway: TestGateway; readonly upstream: TestUpstream }> => {
  const upstream = await httpUpstream()
  const gateway = await bootGateway({
    upstream: upstream.url,
    auth: { methods: ['apiKey'], identityField: 'X-Client-Id' },
    clients: [{ id: 'bank-a', operations, apiKeys: [{ id: 'key', sha256: hash('sha256', secret) }] }],
    ...settings,
  })
  return { gateway, upstream }
}
