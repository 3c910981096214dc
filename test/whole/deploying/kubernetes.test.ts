/** The manifests of Kubernetes, as they stand, and what two files say of one thing. */
import { describe, expect, test } from 'vitest'
import { durations } from '../../../src/core/lib/text/units.ts'
import { load, metricsTokenBeside, tokenBeside } from './configurations.ts'
import { at, compose, container, exampleOf, labels, manifestOf, manifests, pod, read, type Tree } from './files.ts'
import { problemsOf } from './kubernetes-schema.ts'
import { admits, allows } from './network-policy.ts'

/** Distinguishes a map, whose keys are free, from an object with fields. */
const isMap = (tree: object, path: string): boolean =>
  /\/(data|labels|annotations|matchLabels|selector|requests|limits)$/.test(path) &&
  Object.values(tree).every((value) => typeof value === 'string')

/** Makes a copy for each field, at any depth, with that field misspelled. */
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

test.each(manifests)('$file: $manifest.kind is valid, and not with any field misspelled', ({ manifest }) => {
  const misspelled = misspellings(manifest)

  expect(problemsOf(manifest)).toEqual([])
  expect(misspelled.length).toBeGreaterThan(3)
  expect(misspelled.filter(({ copy }) => problemsOf(copy as Tree).length === 0).map(({ path }) => path)).toEqual([])
})

test('a misspelled field is named by its path, and a wrong value by what was expected', () => {
  const misspelled = misspellings(manifestOf('Deployment')).find(({ path }) => path.endsWith('/readOnlyRootFilesystem'))

  expect(problemsOf(misspelled?.copy as Tree)).toEqual([
    'unknown field /spec/template/spec/containers/0/securityContext/readOnlyRootFilesystems',
  ])
  expect(problemsOf({ ...manifestOf('Service'), spec: { ports: [{ port: '80' }] } })[0]).toMatch('port must be')
})

test.each([
  ['Deployment', 'selector', 'matchLabels'],
  ['Service', 'selector'],
  ['PodDisruptionBudget', 'selector', 'matchLabels'],
  ['NetworkPolicy', 'podSelector', 'matchLabels'],
])('the selector of the %s takes the pods of the deployment', (kind, ...path) => {
  expect(at(manifestOf(kind), 'spec', ...path)).toEqual(labels)
})

test('nothing but the public port is in a Service', () => {
  expect(at(manifestOf('Service'), 'spec', 'ports')).toEqual([{ name: 'http', port: 8080, targetPort: 'public' }])
})

test('the pod runs as the image does: not as root, on a read-only root, without a privilege', () => {
  expect(pod).toMatchObject({
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    automountServiceAccountToken: false,
  })
  expect(at(container, 'securityContext')).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
})

test('the configuration is mounted as a folder: with subPath an edit would never be seen', () => {
  expect(at(container, 'volumeMounts')).toEqual([{ name: 'config', mountPath: '/etc/lender-gateway', readOnly: true }])
})

const namespaced = (name: string): Tree => ({ 'kubernetes.io/metadata.name': name })
const named = (name: string): Tree => ({ 'app.kubernetes.io/name': name })

describe('the network policy of production', () => {
  test.each([
    ['lets', 'Prometheus', 'in at', 'admin', 'monitoring', 'prometheus'],
    ['lets', 'a client', 'in at', 'public', 'lender-systems', 'anything'],
    ['keeps', 'a client', 'from', 'admin', 'lender-systems', 'anything'],
    ['keeps', 'a client that calls itself Prometheus', 'from', 'admin', 'lender-systems', 'prometheus'],
    ['keeps', 'another pod beside Prometheus', 'from', 'admin', 'monitoring', 'grafana'],
    ['keeps', 'another gateway', 'from', 'admin', 'default', 'lender-gateway'],
    ['keeps', 'Prometheus', 'from', 'public', 'monitoring', 'prometheus'],
  ])('%s %s %s the %s port', (verdict, _, __, port, namespace, name) => {
    expect(admits({ namespace: namespaced(namespace), pod: named(name) }, port)).toBe(verdict === 'lets')
  })

  const dns = { namespace: namespaced('kube-system'), pod: { 'k8s-app': 'kube-dns' } }

  test('lets the gateways reach the name server and every upstream of their file', () => {
    const { upstreams } = load('kubernetes, production').config
    const origins = Object.values(upstreams).map(({ endpoints }) => new URL(endpoints[0]?.origin ?? ''))

    expect(allows(dns, 53)).toBe(true)
    for (const { hostname, port } of origins)
      expect(allows({ namespace: namespaced(hostname.split('.')[1] ?? ''), pod: {} }, Number(port))).toBe(true)
  })

  test.each([
    ['another port of the name server', dns, 443],
    ['a database', { namespace: namespaced('lending'), pod: {} }, 5432],
    ['Prometheus', { namespace: namespaced('monitoring'), pod: named('prometheus') }, 8080],
    ['each other', { namespace: {}, pod: named('lender-gateway') }, 9901],
  ])('keeps them from %s', (_, peer, port) => {
    expect(allows(peer, port)).toBe(false)
  })
})

test('the base names no namespace of yours: it lets nobody in, and the gateways reach the name server alone', () => {
  const base = manifestOf('NetworkPolicy')
  const all = manifests.filter(({ file }) => file.startsWith('base/')).map(({ manifest }) => manifest)
  const names = [...JSON.stringify(all).matchAll(/"kubernetes\.io\/metadata\.name":"([\w-]+)"/g)]

  expect(all.filter(({ metadata }) => 'namespace' in (metadata as Tree))).toEqual([])
  expect(new Set(names.map(([, name]) => name))).toEqual(new Set(['kube-system']))
  expect(base.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] })
  expect(base.spec).not.toHaveProperty('ingress')
  expect(allows({ namespace: namespaced('lending'), pod: {} }, 8080, base)).toBe(false)
})

test.each(['demo', 'production'])('the overlay %s says into which namespace all goes', (overlay) => {
  expect(exampleOf(`kubernetes/overlays/${overlay}/kustomization.yaml`).namespace).toMatch(/^lender/)
})

test('what Prometheus has is one token of its own, in a Secret that the pods mount', () => {
  const token = at(exampleOf('prometheus/prometheus-kubernetes.yml'), 'scrape_configs', 0, 'authorization')

  expect(load('kubernetes').config.admin).toMatchObject({ token: tokenBeside, metricsToken: metricsTokenBeside })
  expect(token).toEqual({ credentials_file: '/etc/prometheus/lender-gateway/metrics-token' })
  expect(at(pod, 'volumes', 0, 'projected', 'sources')).toContainEqual({ secret: { name: 'lender-gateway-metrics' } })
})

const inKubernetes = ['kubernetes', 'kubernetes, demo', 'kubernetes, production'] as const
const graceMs = Number(at(pod, 'terminationGracePeriodSeconds')) * 1000
const stopTimeout = /^docker run .*--stop-timeout (\d+)/m.exec(read('docs/deploying.md'))?.[1]
const stopGrace = String(at(compose, 'services', 'gateway-a', 'stop_grace_period'))

test.each([
  ...inKubernetes.map((name) => [name, 'terminationGracePeriodSeconds', graceMs] as const),
  ['the image', '--stop-timeout', Number(stopTimeout) * 1000],
  ['compose', 'stop_grace_period', durations.parse(stopGrace)],
] as const)('%s: %s is longer than the shutdown may take, with time to spare', (name, _, ms = 0) => {
  expect(ms).toBeGreaterThanOrEqual(load(name).config.shutdown.deadline + 5000)
})

test.each(inKubernetes)('%s: not ready shows before the gateway stops accepting', (name) => {
  const probe = at(container, 'readinessProbe') as Readonly<Record<string, number>>
  const noticedMs = Number(probe.periodSeconds) * 1000 * Number(probe.failureThreshold)

  expect(noticedMs).toBeLessThan(load(name).config.shutdown.wait)
  expect(container).not.toHaveProperty('lifecycle') // a preStop sleep would only come before that wait
})

test.each(inKubernetes)('%s: probes ask the admin port, for pages that take no token', (name) => {
  const { listen, admin } = load(name).config

  const port = (name: string, containerPort: number) => ({ name, containerPort })
  const probe = (path: string) => ({ httpGet: { path, port: 'admin' } })
  expect(container).toMatchObject({
    ports: [port('public', listen.port), port('admin', admin.port)],
    ...{ startupProbe: probe('/live'), readinessProbe: probe('/ready'), livenessProbe: probe('/live') },
  })
})

test.each(['kubernetes', 'compose'] as const)('%s: the admin listener is reachable and asks for a token', (name) => {
  expect(load(name).config.admin).toMatchObject({ host: '0.0.0.0', insecure: true, token: tokenBeside })
})
