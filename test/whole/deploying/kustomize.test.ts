/** The manifests of Kubernetes as `kubectl apply -k` would send them, rendered by a real kustomize. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { load, secretsBeside } from './configurations.ts'
import { at, kubernetesConfig, manifestOf, read, scratch, type Tree } from './files.ts'
import { problemsOf } from './kubernetes-schema.ts'
import { needKubectl, render } from './kustomize.ts'
import { allows, productionPolicy } from './network-policy.ts'

const kubectl = await needKubectl()
const overlays = ['demo', 'production'] as const

describe.skipIf(kubectl.missing)('kubectl kustomize', () => {
  const documents = new Map<string, Promise<readonly Tree[]>>()
  const rendered = (overlay: string): Promise<readonly Tree[]> => {
    const found = documents.get(overlay) ?? render(kubectl, `overlays/${overlay}`)
    documents.set(overlay, found)
    return found
  }
  /** Finds what production has of each kind, by this name. */
  const production = async (kinds: readonly string[], name = 'lender-gateway'): Promise<readonly Tree[]> => {
    const all = (await rendered('production')).filter((each) => at(each, 'metadata', 'name') === name)
    expect(all.map(({ kind }) => kind)).toEqual(expect.arrayContaining([...kinds]))
    return kinds.map((kind) => all.find((each) => each.kind === kind) as Tree)
  }

  test.each(overlays)('%s: every document is valid, with no field that Kubernetes does not know', async (overlay) => {
    const all = await rendered(overlay)

    expect(all.flatMap((document) => problemsOf(document).map((problem) => `${document.kind}: ${problem}`))).toEqual([])
    expect(all.length).toBeGreaterThan(7)
  })

  test.each(overlays)('%s: the ConfigMap has no suffix, and the file that check takes', async (overlay) => {
    const all = await rendered(overlay)
    const config = all.find(({ kind, metadata }) => kind === 'ConfigMap' && at(metadata, 'name') === 'lender-gateway')
    const text = String(at(config, 'data', 'gateway.yaml'))
    const brought = all.flatMap(({ kind, data }) => (kind === 'Secret' ? Object.entries(data as object) : []))
    const secrets = Object.fromEntries(brought.map(([key, data]) => [key, Buffer.from(data, 'base64').toString()]))
    const file = join(scratch({ 'gateway.yaml': text, ...secretsBeside, ...secrets }), 'gateway.yaml')

    expect(text).toBe(kubernetesConfig(overlay))
    expect(loadConfig(file, {})).toMatchObject({ ok: true })
  })

  test.each(overlays)('%s: all of one namespace, and every selector takes pods that are there', async (overlay) => {
    const all = (await rendered(overlay)).filter(({ kind }) => kind !== 'Namespace')
    const specs = all.map((each) => (each.spec ?? {}) as Readonly<Record<string, Tree | undefined>>)
    const pods = specs.flatMap(({ template }) => (template === undefined ? [] : [at(template, 'metadata', 'labels')]))
    const selectors = specs.flatMap(({ selector, podSelector }) =>
      [selector, podSelector].flatMap((each) => (each === undefined ? [] : [each.matchLabels ?? each])),
    )

    expect(new Set(all.map((each) => at(each, 'metadata', 'namespace'))).size).toBe(1)
    for (const selector of selectors) expect(pods).toContainEqual(selector)
    expect(selectors.length).toBeGreaterThan(3)
  })

  test('the demo needs no Secret that it does not bring, and one pod', async () => {
    const demo = await rendered('demo')
    const valuesOf = (wanted: string, ...path: readonly string[]) =>
      demo.flatMap((each) => (each.kind === wanted ? [at(each, ...path)] : []))

    expect(valuesOf('Secret', 'metadata', 'name')).toEqual(['lender-gateway-admin', 'lender-gateway-metrics'])
    expect(valuesOf('Deployment', 'spec', 'replicas')).toEqual([1])
  })

  test('in production no manifest has a Secret, and each that a pod mounts is made by the page, with its keys', async () => {
    const text = JSON.stringify(await rendered('production'))
    const mounted = [...text.matchAll(/"secret":\{"(?:secretN|n)ame":"([\w-]+)"|"secretName":"([\w-]+)"/g)]
      .map(([, one, other]) => one ?? other)
      .filter((name) => name !== at(manifestOf('Certificate'), 'spec', 'secretName')) // by cert-manager
    const files = [...kubernetesConfig('production').matchAll(/file:([\w-]+)/g)].map(([, name = '']) => name)
    const page = read('docs/deploying.md')

    expect(text).not.toContain('"kind":"Secret"')
    expect(new Set(mounted).size).toBe(5)
    for (const name of mounted) expect(page).toContain(`create secret generic ${name} `)
    expect(new Set(files)).toEqual(new Set(Object.keys(secretsBeside)))
    for (const name of files) expect(page).toContain(`--from-literal=${name}=`)
  })

  test('in production the autoscaler alone says how many pods there are, over zones, then nodes', async () => {
    const [scaler, deployment] = await production(['HorizontalPodAutoscaler', 'Deployment'])
    const spread = at(deployment, 'spec', 'template', 'spec', 'topologySpreadConstraints') as readonly Tree[]

    const scaleTargetRef = { kind: 'Deployment', name: 'lender-gateway' }
    const keys = ['topology.kubernetes.io/zone', 'kubernetes.io/hostname']
    expect(scaler?.spec).toMatchObject({ scaleTargetRef, minReplicas: 3 })
    expect(deployment?.spec).not.toHaveProperty('replicas')
    expect(at(deployment, 'spec', 'minReadySeconds')).toBeGreaterThan(0)
    expect(spread.map(({ topologyKey }) => topologyKey)).toEqual(keys)
  })

  test('in production one host name leads from the certificate to the Service', async () => {
    const [certificate, gateway, route, service] = await production(['Certificate', 'Gateway', 'HTTPRoute', 'Service'])
    const [hostname] = load('kubernetes, production').config.listen.hosts
    const name = 'lender-gateway'
    const tls = { mode: 'Terminate', certificateRefs: [{ name: at(certificate, 'spec', 'secretName') }] }

    expect(at(certificate, 'spec', 'dnsNames')).toEqual([hostname])
    expect(at(gateway, 'spec', 'listeners')).toEqual([expect.objectContaining({ hostname, tls })])
    expect(at(route, 'spec')).toMatchObject({ hostnames: [hostname], parentRefs: [{ name }] })
    const port = at(service, 'spec', 'ports', 0, 'port')
    expect(at(route, 'spec', 'rules', 0, 'backendRefs')).toEqual([{ name, port }])
  })

  test('in production Prometheus asks the admin port, with the token of the Secret, as the job of the alerts', async () => {
    const [monitor, deployment, rule] = await production(['PodMonitor', 'Deployment', 'PrometheusRule'])
    const labels = at(deployment, 'spec', 'template', 'metadata', 'labels')

    expect(at(monitor, 'spec', 'podMetricsEndpoints', 0)).toMatchObject({
      port: 'admin',
      authorization: { credentials: { name: 'lender-gateway-metrics', key: 'metrics-token' } },
    })
    expect(at(labels, String(at(monitor, 'spec', 'jobLabel')))).toBe('lender-gateway')
    expect(JSON.stringify(rule)).toContain('{job=\\"lender-gateway\\"}')
  })

  test('in production the gateways reach Redis, no other pod does, and Redis reaches nothing', async () => {
    const [ours] = await production(['NetworkPolicy'])
    const [theirs] = await production(['NetworkPolicy'], 'lender-redis')
    const redis = { namespace: {}, pod: { 'app.kubernetes.io/name': 'lender-redis' } }
    const { limits, idempotency } = load('kubernetes, production').config
    const podSelector = { matchLabels: at(ours, 'spec', 'podSelector', 'matchLabels') }

    expect([allows(redis, 6379, ours), allows(redis, 6379, manifestOf('NetworkPolicy'))]).toEqual([true, false])
    expect(ours?.spec).toEqual(productionPolicy().spec)
    expect(theirs?.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'], ingress: [{ from: [{ podSelector }] }] })
    expect(at(theirs, 'spec', 'ingress', 0, 'from')).toHaveLength(1)
    expect(theirs?.spec).not.toHaveProperty('egress')
    expect(JSON.stringify([limits.redis, idempotency?.redis])).toContain('lender-redis')
  })

  test('in production a pod has no disk of its own or of others, and its audit lines go to standard output', async () => {
    const [deployment] = await production(['Deployment'])
    const { containers, volumes } = at(deployment, 'spec', 'template', 'spec') as Tree
    const mounts = at(containers, 0, 'volumeMounts') as readonly Tree[]
    const kinds = (await rendered('production')).map(({ kind }) => kind)

    expect(load('kubernetes, production').config.audit).toMatchObject({ file: 'stdout', onFailure: 'reject' })
    expect(mounts.map(({ name, readOnly }) => [name, readOnly])).toEqual([['config', true]])
    expect((volumes as readonly Tree[]).map((volume) => Object.keys(volume).sort())).toEqual([['name', 'projected']])
    expect(kinds).not.toContain('PersistentVolumeClaim')
  })

  test('in production a drain of nodes waits for whoever deletes the one Redis', async () => {
    const [budget, redis] = await production(['PodDisruptionBudget', 'StatefulSet'], 'lender-redis')

    const selector = at(redis, 'spec', 'selector')
    expect(budget?.spec).toEqual({ maxUnavailable: 0, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector })
    expect(at(redis, 'spec', 'replicas')).toBe(1)
  })
})
