import { Certificate } from '@kubernetes-models/cert-manager/cert-manager.io/v1/Certificate'
import { Gateway } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/Gateway'
import { HTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute'
import { PodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor'
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { Namespace } from 'kubernetes-models/v1/Namespace'
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim'
import { Secret } from 'kubernetes-models/v1/Secret'
import { Service } from 'kubernetes-models/v1/Service'
import type { Tree } from './files.ts'

const models = [
  ...[Certificate, ConfigMap, Deployment, Gateway, HTTPRoute, HorizontalPodAutoscaler, Namespace, NetworkPolicy],
  ...[PersistentVolumeClaim, PodDisruptionBudget, PodMonitor, PrometheusRule, Secret, Service, StatefulSet],
]

/**
 * Checks a manifest against the Kubernetes schema of its kind, as `kubectl apply --validate=strict` does: also an
 * unknown field is a problem. Returns one line a problem.
 */
export const problemsOf = (manifest: Tree): readonly string[] => {
  const model = models.find(({ apiVersion, kind }) => apiVersion === manifest.apiVersion && kind === manifest.kind)
  if (model === undefined) return [`no schema for ${manifest.apiVersion} ${manifest.kind}`]

  const watched = watch(manifest)
  try {
    model.prototype.validate.call(watched.proxy)
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
  return watched.unread().map((path) => `unknown field ${path}`)
}

/**
 * Wraps a tree so that it knows which keys were never read. The compiled schemas pass over a field that they do not
 * know: they ask for each property that they know by its name, and for each key of a map in turn. What they never ask
 * for is no field.
 */
const watch = (tree: object, path = ''): { readonly proxy: object; unread(): readonly string[] } => {
  const read = new Set<string>()
  const inner = new Map<string, ReturnType<typeof watch>>()
  const proxy = new Proxy(tree, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      if (typeof key === 'symbol') return value
      read.add(key)
      if (typeof value !== 'object' || value === null) return value
      const watched = inner.get(key) ?? watch(value, `${path}/${key}`)
      inner.set(key, watched)
      return watched.proxy
    },
  })
  const unread = (): readonly string[] => [
    ...Object.keys(tree).flatMap((key) => (read.has(key) ? [] : [`${path}/${key}`])),
    ...[...inner.values()].flatMap((watched) => watched.unread()),
  ]
  return { proxy, unread }
}
