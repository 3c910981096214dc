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
  const documents = new Map<string, readonly Tree[]>()
  const rendered = async (overlay: string): Promise<readonly Tree[]> => {
    const found = documents.get(overlay) ?? (await render(kubectl, `overlays/${overlay}`))
    documents.set(overlay, found)
    return found
  }
  const named = async (overlay: string, kind: string, name = 'lender-gateway'): Promise<Tree> => {
    const found = (await rendered(overlay)).find((each) => each.kind === kind && at(each, 'metadata', 'name') === name)
    if (found === undefined) throw new Error(`no ${kind} ${name} in ${overlay}`)
    return found
  }

  test.each(overlays)('%s: every document is valid, with no field that Kubernetes does not know', async (overlay) => {
    const all = await rendered(overlay)

    expect(all.flatMap((document) => problemsOf(document).map((problem) => `${document.kind}: ${problem}`))).toEqual([])
    expect(all.length).toBeGreaterThan(7)
  })

  test.each(overlays)(
    '%s: the ConfigMap has a name without a suffix, and the file that check takes',
    async (overlay) => {
      const text = String(at(await named(overlay, 'ConfigMap'), 'data', 'gateway.yaml'))
      const brought = (await rendered(overlay)).flatMap((each) =>
        each.kind === 'Secret' ? Object.entries(each.data as Readonly<Record<string, string>>) : [],
      )
      const secrets = Object.fromEntries(brought.map(([key, data]) => [key, Buffer.from(data, 'base64').toString()]))
      const file = join(scratch({ 'gateway.yaml': text, ...secretsBeside, ...secrets }), 'gateway.yaml')

      expect(text).toBe(kubernetesConfig(overlay))
      expect(loadConfig(file, {})).toMatchObject({ ok: true })
    },
  )

  test.each(overlays)('%s: all of one namespace, and every selector takes pods that are there', async (overlay) => {
    const all = (await rendered(overlay)).filter(({ kind }) => kind !== 'Namespace')
    const pods = all.flatMap((each) =>
      ['Deployment', 'StatefulSet'].includes(String(each.kind))
        ? [at(each, 'spec', 'template', 'metadata', 'labels')]
        : [],
    )
    const selectors = all.flatMap((each) =>
      ['selector', 'podSelector'].flatMap((key) => {
        const selector = (each.spec as Tree | undefined)?.[key] as Tree | undefined
        return selector === undefined ? [] : [selector.matchLabels ?? selector]
      }),
    )

    expect(new Set(all.map((each) => at(each, 'metadata', 'namespace'))).size).toBe(1)
    for (const selector of selectors) expect(pods).toContainEqual(selector)
    expect(selectors.length).toBeGreaterThan(3)
  })

  test('the demo needs no Secret that it does not bring, and one pod', async () => {
    const demo = await rendered('demo')
    const brought = demo.flatMap((each) => (each.kind === 'Secret' ? [at(each, 'metadata', 'name')] : []))

    expect(brought).toEqual(['lender-gateway-admin', 'lender-gateway-metrics'])
    expect(at(await named('demo', 'Deployment'), 'spec', 'replicas')).toBe(1)
  })

  test('in production no manifest has a Secret, and each that a pod mounts is made by the page', async () => {
    const production = await rendered('production')
    const mounted = [
      ...JSON.stringify(production).matchAll(/"secret":\{"(?:secretN|n)ame":"([\w-]+)"|"secretName":"([\w-]+)"/g),
    ]
      .map(([, one, other]) => one ?? other)
      .filter((name) => name !== at(manifestOf('Certificate'), 'spec', 'secretName')) // by cert-manager

    expect(production.map(({ kind }) => kind)).not.toContain('Secret')
    expect(new Set(mounted).size).toBe(5)
    for (const name of mounted) expect(read('docs/deploying.md')).toContain(`create secret generic ${name} `)
  })

  test('in production each file that the configuration names is a key of those Secrets', () => {
    const files = [...kubernetesConfig('production').matchAll(/file:([\w-]+)/g)].map(([, name = '']) => name)

    expect(new Set(files)).toEqual(new Set(Object.keys(secretsBeside)))
    for (const name of files) expect(read('docs/deploying.md')).toContain(`--from-literal=${name}=`)
  })

  test('in production the autoscaler alone says how many pods there are, three at least', async () => {
    const { spec } = await named('production', 'HorizontalPodAutoscaler')
    const deployment = await named('production', 'Deployment')

    expect(deployment.spec).not.toHaveProperty('replicas')
    expect(spec).toMatchObject({ scaleTargetRef: { kind: 'Deployment', name: 'lender-gateway' }, minReplicas: 3 })
    expect(at(deployment, 'spec', 'minReadySeconds')).toBeGreaterThan(0)
  })

  test('in production pods are spread over zones, then nodes', async () => {
    const spread = at(await named('production', 'Deployment'), 'spec', 'template', 'spec', 'topologySpreadConstraints')

    expect((spread as readonly Tree[]).map(({ topologyKey }) => topologyKey)).toEqual([
      'topology.kubernetes.io/zone',
      'kubernetes.io/hostname',
    ])
  })

  test('in production one host name leads from the certificate to the Service', async () => {
    const certificate = await named('production', 'Certificate')
    const gateway = await named('production', 'Gateway')
    const route = await named('production', 'HTTPRoute')
    const service = await named('production', 'Service')
    const [host] = load('kubernetes, production').config.listen.hosts

    expect(at(certificate, 'spec', 'dnsNames')).toEqual([host])
    expect(at(gateway, 'spec', 'listeners')).toEqual([
      expect.objectContaining({
        hostname: host,
        tls: { mode: 'Terminate', certificateRefs: [{ name: at(certificate, 'spec', 'secretName') }] },
      }),
    ])
    expect(at(route, 'spec')).toMatchObject({
      hostnames: [host],
      parentRefs: [{ name: at(gateway, 'metadata', 'name') }],
    })
    expect(at(route, 'spec', 'rules', 0, 'backendRefs')).toEqual([
      { name: at(service, 'metadata', 'name'), port: at(service, 'spec', 'ports', 0, 'port') },
    ])
  })

  test('in production Prometheus asks the admin port, with the token of the Secret, as the job of the alerts', async () => {
    const { spec } = await named('production', 'PodMonitor')
    const label = String(at(spec, 'jobLabel'))

    expect(at(spec, 'podMetricsEndpoints', 0)).toMatchObject({
      port: 'admin',
      authorization: { credentials: { name: 'lender-gateway-metrics', key: 'metrics-token' } },
    })
    expect(at(await named('production', 'Deployment'), 'spec', 'template', 'metadata', 'labels', label)).toBe(
      'lender-gateway',
    )
    expect(JSON.stringify(await named('production', 'PrometheusRule'))).toContain('{job=\\"lender-gateway\\"}')
  })

  test('in production the gateways reach Redis, no other pod does, and Redis reaches nothing', async () => {
    const ours = await named('production', 'NetworkPolicy')
    const theirs = await named('production', 'NetworkPolicy', 'lender-redis')
    const redis = { namespace: {}, pod: { 'app.kubernetes.io/name': 'lender-redis' } }
    const { limits, idempotency } = load('kubernetes, production').config

    expect(allows(redis, 6379, ours)).toBe(true)
    expect(allows(redis, 6379, manifestOf('NetworkPolicy'))).toBe(false) // by the base
    expect(ours.spec).toEqual(productionPolicy().spec)
    expect(at(theirs, 'spec', 'ingress', 0, 'from')).toEqual([
      { podSelector: { matchLabels: at(ours, 'spec', 'podSelector', 'matchLabels') } },
    ])
    expect(theirs.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] })
    expect(theirs.spec).not.toHaveProperty('egress')
    expect(JSON.stringify([limits.redis, idempotency?.redis])).toContain('lender-redis')
  })

  test('in production a pod has no disk of its own or of others, and its audit lines go to standard output', async () => {
    const { containers, volumes } = at(await named('production', 'Deployment'), 'spec', 'template', 'spec') as Tree
    const mounts = at(containers, 0, 'volumeMounts') as readonly Tree[]
    const kinds = (await rendered('production')).map(({ kind }) => kind)

    expect(load('kubernetes, production').config.audit).toMatchObject({ file: 'stdout', onFailure: 'refuse' })
    expect(mounts.map(({ name, readOnly }) => [name, readOnly])).toEqual([['config', true]])
    expect((volumes as readonly Tree[]).map((volume) => Object.keys(volume).sort())).toEqual([['name', 'projected']])
    expect(kinds).not.toContain('PersistentVolumeClaim')
  })

  test('in production a drain of nodes waits for whoever deletes the one Redis', async () => {
    const budget = await named('production', 'PodDisruptionBudget', 'lender-redis')
    const redis = await named('production', 'StatefulSet', 'lender-redis')

    expect(budget.spec).toEqual({
      maxUnavailable: 0,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: at(redis, 'spec', 'selector'),
    })
    expect(at(redis, 'spec', 'replicas')).toBe(1)
  })
})
