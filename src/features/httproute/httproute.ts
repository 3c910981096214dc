import { Command, InvalidArgumentError, Option } from 'commander'
import type { BuiltInCommand } from '../../core/cli/built-in-command.ts'
import { createFormatOption, type DocumentFormat, defaultConfigFile } from '../../core/cli/options.ts'
import { printMadeDocument } from '../../core/cli/render/output.ts'
import { allOperations } from '../../operations.ts'

const help = `
The route has exactly the nine, by method and exact path, below listen.basePath of the file. It asks no gateway.

Exit code: 0 printed, 1 the file has problems, 2 the file cannot be read, or wrong usage.

Examples:
  lender-gateway httproute --parent edge/public --host lender.example.com > http-route.yaml
  lender-gateway httproute --config gateway.yaml --parent edge/public/https --namespace lending`

interface RouteOptions {
  readonly name: string
  readonly namespace?: string
  readonly parent: {
    readonly name: string
    readonly namespace?: string | undefined
    readonly sectionName?: string | undefined
  }
  readonly host: readonly string[]
  readonly service: ReturnType<typeof parseService>
}

type CommandOptions = RouteOptions & { readonly config: string; readonly format: DocumentFormat }

const createHttpRouteCommand = (): Command =>
  new Command('httproute')
    .description('Print an HTTPRoute of the Kubernetes Gateway API for exactly the nine.')
    .requiredOption('--parent <[NAMESPACE/]NAME[/LISTENER]>', 'the Gateway that it belongs to', parseParent)
    .option('--host <NAME>', 'a host name that clients ask for; again for further ones', collectHost, [])
    .option('--name <NAME>', 'the name of the route', parseName, 'lender-gateway')
    .option('--namespace <NAMESPACE>', 'its namespace; left out: where it is applied', parseNamespace)
    .addOption(
      new Option('--service <NAME:PORT>', 'the Service of the gateways')
        .argParser(parseService)
        .default({ name: 'lender-gateway', port: 8080 }, 'lender-gateway:8080'),
    )
    .option('--config <FILE>', 'the configuration file', defaultConfigFile)
    .addOption(createFormatOption('yaml'))
    .addHelpText('after', help)
    .action(({ config: file, format, ...options }: CommandOptions) =>
      printMadeDocument(file, format, ({ listen }) => createHttpRoute(listen.basePath, options)),
    )

export const createHttpRoute = (basePath: string, { name, namespace, parent, host, service }: RouteOptions) => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels: { 'app.kubernetes.io/name': name } },
  spec: {
    parentRefs: [parent],
    ...(host.length === 0 ? {} : { hostnames: host }),
    // A rule for each method: Gateway API 1.0 allows eight matches a rule.
    rules: (['GET', 'POST'] as const).map((method) => ({
      matches: allOperations
        .filter((operation) => operation.method === method)
        .map(({ path }) => ({ method, path: { type: 'Exact', value: basePath + path } })),
      backendRefs: [service],
    })),
  },
})

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const isName = (text: string): boolean => text.length <= 253 && text.split('.').every((part) => label.test(part))

function parseName(text: string): string {
  if (isName(text) && text.length <= 63) return text // also a label
  throw new InvalidArgumentError('up to 63 small letters, digits, - and dots are expected.')
}

function parseNamespace(text: string): string {
  if (label.test(text)) return text
  throw new InvalidArgumentError('a namespace is expected: up to 63 small letters, digits and -.')
}

function collectHost(text: string, before: readonly string[]): readonly string[] {
  // A number at the end would make the name an address, which an HTTPRoute rejects.
  if (isName(text.replace(/^\*\./, '')) && !/(^|\.)\d+$/.test(text)) return [...before, text]
  throw new InvalidArgumentError('a host name without a port is expected, such as lender.example.com.')
}

function parseParent(text: string): RouteOptions['parent'] {
  const parts = text.split('/')
  const [name = '', namespace, sectionName] = parts.length === 1 ? parts : [parts[1], parts[0], ...parts.slice(2)]
  if (parts.length <= 3 && parts.every(isName)) return { namespace, name, sectionName }
  throw new InvalidArgumentError('a Gateway is expected, such as public, edge/public or edge/public/https.')
}

function parseService(text: string) {
  const [, name = '', port = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? []
  if (label.test(name) && Number(port) >= 1 && Number(port) <= 65_535) return { name, port: Number(port) }
  throw new InvalidArgumentError('a Service and its port are expected, such as lender-gateway:8080.')
}

export const builtInCommands: readonly BuiltInCommand[] = [{ after: 'check', create: createHttpRouteCommand }]
