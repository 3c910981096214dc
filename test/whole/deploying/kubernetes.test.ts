/** The manifests of Kubernetes, as they stand, and what two files say of one thing. */
import { describe, expect, test } from 'vitest'
import { durations } from '../../../src/core/lib/text/units.ts'
import { load, metricsTokenBeside, tokenBeside } from './configurations.ts'
import { at, documentsOf, examples, manifestOf, manifests, read, type Tree } from './files.ts'
import { problemsOf } from './kubernetes-schema.ts'
import { admits, allows } from './network-policy.ts'

test.each(manifests)('$file: $manifest.kind is valid, with no field that Kubernetes does not know', ({ manifest }) => {
  expect(problemsOf(manifest)).toEqual([])
})

/** Distinguishes a map, whose keys are free, from an object with fields. */
const isMap = (tree: object, path: string): boolean =>
  /\/(data|labels|annotations|matchLabels|selector|requests|limits)$/.test(path) &&
  Object.values(tree).every((value) => typeof value === 'string')

/** Makes a copy for each field, at any depth, with that field misspelt. */
const misspellings = (tree: unknown, path = ''): readonly { readonly path: string; readonly copy: unknown }[] => {
  if (typeof tree !== 'object' || tree === null || isMap(tree, path)) return []
  const copyWith = (key: string, value: unknown, as = key): unknown =>
    Array.isArray(tree)
      ? tree.map((item, index) => (String(index) === key ? value : item))
      : Object.fromEntries(Object.entries(tree).map((entry) => (entry[0] === key ? [as, value] : entry)))
  return Object.entries(tree).flatMap(([key, value]) => [
    ...(Array.isArray(tree) ? [] : [{ path: `${path}/${key}`, copy: copyWith(key, value, `${key}s`) }]),
    ...misspellings(value, `${path}/${key}`).map((inner) => ({ path: inner.path, copy: copyWith(key, inner.copy) })),
  ])
}

test.each(manifests)('a misspelt field of $file: $manifest.kind is a problem, whichever it is', ({ manifest }) => {
  const misspelt = misspellings(manifest)

  const passed = misspelt.filter(({ copy }) => problemsOf(copy as Tree).length === 0)

  expect(misspelt.length).toBeGreaterThan(3)
  expect(passed.map(({ path }) => path)).toEqual([])
})

test('a misspelt field is named by its path, and a wrong value by what was expected', () => {
  const [misspelt] = misspellings(manifestOf('Deployment')).filter(({ path }) =>
    path.endsWith('/readOnlyRootFilesystem'),
  )

  expect(problemsOf(misspelt?.copy as Tree)).toEqual([
    'unknown field /spec/template/spec/containers/0/securityContext/readOnlyRootFilesystems',
  ])
  expect(problemsOf({ ...manifestOf('Service'), spec: { ports: [{ port: '80' }] } })[0]).toMatch('port must be')
})

test('every selector takes the pods of the deployment, and every port that is named is theirs', () => {
  const labels = at(manifestOf('Deployment'), 'spec', 'template', 'metadata', 'labels')
  const ports = at(manifestOf('Deployment'), 'spec', 'template', 'spec', 'containers', 0, 'ports') as Tree[]

  expect(at(manifestOf('Deployment'), 'spec', 'selector', 'matchLabels')).toEqual(labels)
  expect(at(manifestOf('Service'), 'spec', 'selector')).toEqual(labels)
  expect(at(manifestOf('PodDisruptionBudget'), 'spec', 'selector', 'matchLabels')).toEqual(labels)
  expect(at(manifestOf('NetworkPolicy'), 'spec', 'podSelector', 'matchLabels')).toEqual(labels)
  expect(ports.map(({ name }) => name)).toEqual(['public', 'admin'])
  expect(at(manifestOf('Service'), 'spec', 'ports', 0, 'targetPort')).toBe('public')
})

test('the pod runs as the image does: not as root, on a read-only root, without a privilege', () => {
  const pod = at(manifestOf('Deployment'), 'spec', 'template', 'spec')

  expect(at(pod, 'securityContext')).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
  expect(at(pod, 'containers', 0, 'securityContext')).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  expect(at(pod, 'automountServiceAccountToken')).toBe(false)
})

test('the configuration is mounted as a folder: with subPath an edit would never be seen', () => {
  const mounts = at(manifestOf('Deployment'), 'spec', 'template', 'spec', 'containers', 0, 'volumeMounts')

  expect(mounts).toEqual([{ name: 'config', mountPath: '/etc/lender-gateway', readOnly: true }])
})

const text = read(`${examples}/prometheus/prometheus-kubernetes.yml`)
const template = at(manifestOf('Deployment'), 'spec', 'template')
const namespaced = (name: string): Tree => ({ 'kubernetes.io/metadata.name': name })
const named = (name: string): Tree => ({ 'app.kubernetes.io/name': name })

describe('the network policy of production', () => {
  test.each([
    ['Prometheus', 'admin', 'monitoring', 'prometheus'],
    ['a client', 'public', 'lender-systems', 'anything'],
  ])('lets %s in at the %s port', (_, port, namespace, name) => {
    expect(admits({ namespace: namespaced(namespace), pod: named(name) }, port)).toBe(true)
  })

  test.each([
    ['a client', 'admin', 'lender-systems', 'anything'],
    ['a client that calls itself Prometheus', 'admin', 'lender-systems', 'prometheus'],
    ['another pod beside Prometheus', 'admin', 'monitoring', 'grafana'],
    ['another gateway', 'admin', 'default', 'lender-gateway'],
    ['Prometheus', 'public', 'monitoring', 'prometheus'],
  ])('keeps %s from the %s port', (_, port, namespace, name) => {
    expect(admits({ namespace: namespaced(namespace), pod: named(name) }, port)).toBe(false)
  })

  const dns = { namespace: namespaced('kube-system'), pod: { 'k8s-app': 'kube-dns' } }

  test('lets the gateways reach the name server and every upstream of their file', () => {
    const { upstreams } = load('kubernetes, production').config
    const origins = Object.values(upstreams).map(({ endpoints }) => new URL(endpoints[0]?.origin ?? ''))

    expect(allows(dns, 53)).toBe(true)
    for (const { hostname, port } of origins)
      expect(allows({ namespace: namespaced(hostname.split('.')[1] ?? ''), pod: {} }, Number(port))).toBe(true)
  })

  test('keeps them from everything else', () => {
    expect(allows(dns, 443)).toBe(false)
    expect(allows({ namespace: namespaced('lending'), pod: {} }, 5432)).toBe(false)
    expect(allows({ namespace: namespaced('monitoring'), pod: named('prometheus') }, 8080)).toBe(false)
    expect(allows({ namespace: {}, pod: named('lender-gateway') }, 9901)).toBe(false)
  })
})

test('the base names no namespace of yours: it lets nobody in, and the gateways reach the name server alone', () => {
  const base = manifestOf('NetworkPolicy')
  const all = manifests.filter(({ file }) => file.startsWith('base/')).map(({ manifest }) => manifest)
  const names = [...JSON.stringify(all).matchAll(/"kubernetes\.io\/metadata\.name":"([\w-]+)"/g)].map(
    ([, name]) => name,
  )

  expect(all.filter(({ metadata }) => 'namespace' in (metadata as Tree))).toEqual([])
  expect(new Set(names)).toEqual(new Set(['kube-system']))
  expect(base.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] })
  expect(base.spec).not.toHaveProperty('ingress')
  expect(allows({ namespace: namespaced('lending'), pod: {} }, 8080, base)).toBe(false)
})

test.each(['demo', 'production'])('the overlay %s says into which namespace all goes', (overlay) => {
  const [kustomization] = documentsOf(read(`${examples}/kubernetes/overlays/${overlay}/kustomization.yaml`))

  expect(kustomization?.namespace).toMatch(/^lender/)
})

test('what Prometheus has is one token of its own, in a Secret that the pods mount', () => {
  const { admin } = load('kubernetes').config
  const secrets = documentsOf(text).map((document) => at(document, 'scrape_configs', 0, 'authorization'))

  expect(admin).toMatchObject({ token: tokenBeside, metricsToken: metricsTokenBeside })
  expect(secrets).toEqual([{ credentials_file: '/etc/prometheus/lender-gateway/metrics-token' }])
  expect(at(template, 'spec', 'volumes', 0, 'projected', 'sources')).toContainEqual({
    secret: { name: 'lender-gateway-metrics' },
  })
})

const inKubernetes = ['kubernetes', 'kubernetes, demo', 'kubernetes, production'] as const
const pod = at(manifestOf('Deployment'), 'spec', 'template', 'spec')
const container = at(pod, 'containers', 0)
const probe = (name: string, key: string): number => Number(at(container, name, key)) * 1000

test.each([
  ...inKubernetes.map(
    (name) => [name, 'terminationGracePeriodSeconds', Number(at(pod, 'terminationGracePeriodSeconds')) * 1000] as const,
  ),
  [
    'the image',
    '--stop-timeout',
    Number(/^docker run .*--stop-timeout (\d+)/m.exec(read('docs/deploying.md'))?.[1]) * 1000,
  ],
  [
    'compose',
    'stop_grace_period',
    durations.parse(
      String(
        at(documentsOf(read(`${examples}/compose/compose.yaml`))[0], 'services', 'gateway-a', 'stop_grace_period'),
      ),
    ),
  ],
] as const)('%s: %s is longer than the shutdown may take, with time to spare', (name, _, ms = 0) => {
  const { shutdown } = load(name).config

  expect(ms).toBeGreaterThanOrEqual(shutdown.deadline + 5000)
})

test.each(inKubernetes)('%s: not ready shows before the gateway stops accepting', (name) => {
  const noticedMs =
    probe('readinessProbe', 'periodSeconds') * Number(at(container, 'readinessProbe', 'failureThreshold'))

  expect(noticedMs).toBeLessThan(load(name).config.shutdown.wait)
  expect(container).not.toHaveProperty('lifecycle') // a preStop sleep would only come before that wait
})

test.each(inKubernetes)('%s: probes ask the admin port, for pages that take no token', (name) => {
  const { listen, admin } = load(name).config

  expect(at(container, 'ports')).toEqual([
    { name: 'public', containerPort: listen.port },
    { name: 'admin', containerPort: admin.port },
  ])
  expect(at(container, 'startupProbe', 'httpGet')).toEqual({ path: '/live', port: 'admin' })
  expect(at(container, 'readinessProbe', 'httpGet')).toEqual({ path: '/ready', port: 'admin' })
  expect(at(container, 'livenessProbe', 'httpGet')).toEqual({ path: '/live', port: 'admin' })
})

test('kubernetes, compose: the admin listener is reachable and asks for a token', () => {
  expect(load('kubernetes').config.admin).toMatchObject({ host: '0.0.0.0', insecure: true, token: tokenBeside })
  expect(load('compose').config.admin).toMatchObject({ host: '0.0.0.0', insecure: true, token: tokenBeside })
})

test('kubernetes: nothing but the public port is in a Service', () => {
  expect(at(manifestOf('Service'), 'spec', 'ports')).toEqual([{ name: 'http', port: 8080, targetPort: 'public' }])
})
