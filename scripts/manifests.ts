/**
 * Writes the manifests that are made of other files: the PrometheusRule of the alert rules, and the HTTPRoute of the
 * nine, for the host names of the configuration beside it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { formatYaml } from '../src/core/config/yaml/yaml-document.ts'
import { createHttpRoute } from '../src/features/httproute/httproute.ts'

const examples = fileURLToPath(new URL('../config/examples', import.meta.url))
const production = 'kubernetes/overlays/production'
const read = (file: string): string => readFileSync(join(examples, file), 'utf8')

/**
 * Makes the manifest of the alert rules, with their text as it is but for the commands: they run in a pod, since nobody
 * but Prometheus reaches the admin listener of one, and `instance` is its name. Without a terminal (`-it`), `tail` would
 * go on in the pod when the operator has ended it.
 */
export const makePrometheusRule = (alerts: string): string => {
  const inPods = alerts
    .replace(
      /^# `command` runs [^`]*`instance`[^`]*?\.\n/m,
      '# `command` runs where kubectl has the namespace of the pods.\n',
    )
    .replaceAll(
      /^( *command: )(lender-gateway .+) --admin http:\/\/({{.*}})$/gm,
      (_, key, command, pod) => `${key}kubectl exec -it ${pod} -- ${command}`,
    )
    .replaceAll(/^( *command: )(?=lender-gateway )/gm, '$1kubectl exec -it deployment/lender-gateway -- ')
  return `# Made of config/examples/prometheus/alerts.yml by npm run manifests.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: lender-gateway
  labels:
    app.kubernetes.io/name: lender-gateway
spec:
${inPods.replaceAll(/^(?=.)/gm, '  ')}`
}

/** Makes the route to gateways with a configuration: for its host names, below its base path. */
export const makeHttpRoute = (configuration: string): string => {
  const {
    listen: { hosts = [], basePath = '' },
  }: { readonly listen: { readonly hosts?: readonly string[]; readonly basePath?: string } } = parse(configuration)
  const route = createHttpRoute(basePath, {
    name: 'lender-gateway',
    parent: { name: 'lender-gateway' },
    host: [...new Set(hosts.map((host) => host.replace(/:\d+$/, '')))],
    service: { name: 'lender-gateway', port: 8080 },
  })
  return `# Made of gateway.yaml by npm run manifests, as lender-gateway httproute prints it.\n${formatYaml(route)}`
}

/** Lists the manifests that are made, by their path below the examples, as they would be written now. */
export const madeManifests = (): readonly { readonly file: string; readonly text: string }[] => [
  {
    file: `${production}/prometheus-rule.yaml`,
    text: makePrometheusRule(read('prometheus/alerts.yml')),
  },
  { file: `${production}/http-route.yaml`, text: makeHttpRoute(read(`${production}/gateway.yaml`)) },
]

if (import.meta.main) for (const { file, text } of madeManifests()) writeFileSync(join(examples, file), text)
