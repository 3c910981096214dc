import type { Config, ListenConfig } from '../../core/config/config.ts'
import { askFacts } from '../../core/config/config-facts.ts'
import type { PlainObject } from '../../core/lib/plain-object.ts'
import { version } from '../../core/lib/program.ts'
import { allOperations, groups } from '../../operations.ts'
import { createComponentRegistry } from './component-registry.ts'
import { openContract } from './contract-source.ts'
import { describeOperation } from './describe-operation.ts'
import { openApiParts } from './operation-notes.ts'

/** `contract`: a bundle, which never adds an operation. `x-gap` lists what is unspecified. */
export const createOpenApiDocument = (
  config: Config,
  contract: unknown = openApiParts.map((part) => part.document?.(config)).find((each) => each != null),
): PlainObject => {
  const { servers, pathPrefix } = describeServers(config.listen)
  const source = openContract(contract, pathPrefix)
  const components = createComponentRegistry(source.components)
  const paths = Object.fromEntries(
    allOperations.map((operation) => [
      pathPrefix + operation.path,
      describeOperation(operation, { config, contract: source, components }),
    ]),
  )
  const { description } = source.info
  return {
    openapi: '3.1.1',
    info: {
      title: 'Lender integration service',
      version: version(),
      ...source.info,
      description: typeof description === 'string' ? `${description}\n\n${about}` : about,
    },
    servers,
    tags: groups.map((name) => {
      const text = source.getTagDescription(name)
      return text === null ? { name } : { name, description: text }
    }),
    paths,
    components: components.all(),
  }
}

const about = `The gateway lets exactly these nine operations through. It rejects any other path with 404 \`not-found\`, and another
method with 405 \`method-not-allowed\`. Its own errors are \`application/problem+json\` and have a \`code\`; every other
response is the upstream's. What is not specified stands in \`x-gap\` of each operation.
`

/**
 * A `publicUrl` that does not end with `basePath` belongs to a proxy that rewrites paths. `pathPrefix` begins each
 * path.
 */
export const describeServers = (listen: ListenConfig) => {
  const { publicUrl, basePath, hosts, tls, trustedProxies } = listen
  if (publicUrl !== null) {
    const pathPrefix = new URL(publicUrl).pathname.endsWith(basePath) ? basePath : ''
    const url = publicUrl.slice(0, publicUrl.length - pathPrefix.length)
    return { servers: [{ url }], pathPrefix }
  }
  const [inFront] = askFacts((facts) => facts.clientScheme?.(listen))
  // TLS may end at a proxy in front: a URL without a scheme takes the document's.
  const scheme = tls !== null ? 'https:' : (inFront ?? (trustedProxies.length === 0 ? 'http:' : ''))
  const servers = hosts.length === 0 ? [{ url: '/' }] : hosts.map((host) => ({ url: `${scheme}//${host}` }))
  return { servers, pathPrefix: basePath }
}
