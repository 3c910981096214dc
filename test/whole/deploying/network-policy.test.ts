/** Whom the network policy for Kubernetes lets in, and which token Prometheus has. */
import { describe, expect, test } from 'vitest'
import { load, metricsTokenBeside, tokenBeside } from './configurations.ts'
import { at, documentsOf, examples, manifestOf, manifests, read, type Tree } from './files.ts'
import { admits, allows } from './network-policy.ts'

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
