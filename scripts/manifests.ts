/**
 * Writes the manifests that are made of other files: the PrometheusRule of the alert rules, and the HTTPRoute of the nine.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHttpRoute } from '../src/cli/kubernetes/httproute.ts'
import { formatYaml } from '../src/config/yaml/format-yaml.ts'

const examples = fileURLToPath(new URL('../config/examples', import.meta.url))
const production = 'kubernetes/overlays/production'

/** Makes the manifest of the alert rules, with their text as it is. */
const prometheusRule = (
  alerts: string,
): string => `# Made of config/examples/prometheus/alerts.yml by npm run manifests.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: lender-gateway
  labels:
    app.kubernetes.io/name: lender-gateway
spec:
${alerts.replaceAll(/^(?=.)/gm, '  ')}`

const httpRoute = (): string =>
  `# Made by npm run manifests, as lender-gateway httproute prints it.\n${formatYaml(
    createHttpRoute('', {
      name: 'lender-gateway',
      parent: { name: 'lender-gateway' },
      host: ['lender.example.com'],
      service: { name: 'lender-gateway', port: 8080 },
    }),
  )}`

/** Lists the manifests that are made, by their path below the examples, as they would be written now. */
export const madeManifests = (): readonly { readonly file: string; readonly text: string }[] => [
  {
    file: `${production}/prometheus-rule.yaml`,
    text: prometheusRule(readFileSync(join(examples, 'prometheus/alerts.yml'), 'utf8')),
  },
  { file: `${production}/http-route.yaml`, text: httpRoute() },
]

if (import.meta.main) for (const { file, text } of madeManifests()) writeFileSync(join(examples, file), text)
