/** Whom the network policy for Kubernetes lets in, and which token Prometheus has. */
import { describe, expect, test } from 'vitest'
import { load, metricsTokenBeside, tokenBeside } from './configurations.ts'
import { at, documentsOf, examples, manifestOf, read, type Tree } from './files.ts'
import { admits } from './network-policy.ts'

const text = read(`${examples}/prometheus/prometheus-kubernetes.yml`)
const template = at(manifestOf('Deployment'), 'spec', 'template')
const namespaced = (name: string): Tree => ({ 'kubernetes.io/metadata.name': name })
const named = (name: string): Tree => ({ 'app.kubernetes.io/name': name })

describe('the network policy', () => {
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
