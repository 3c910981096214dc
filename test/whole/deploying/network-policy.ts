import { at, documentsOf, examples, manifestOf, read, type Tree } from './files.ts'

/** A pod at the other end: its own labels, and those of its namespace; none: it is in that of the gateways. */
export interface Peer {
  readonly namespace: Tree
  readonly pod: Tree
}

/** The policy of the overlay `production`: that of the base, with what its patch adds. */
export const productionPolicy = (): Tree => {
  const policy = structuredClone(manifestOf('NetworkPolicy'))
  const patch = read(`${examples}/kubernetes/overlays/production/network-policy-patch.yaml`)
  for (const { op, path, value } of documentsOf(patch)[0] as unknown as readonly Tree[]) {
    const [, list = '', end] = /^\/spec\/(\w+)(\/-)?$/.exec(String(path)) ?? []
    if (op !== 'add' || list === '') throw new Error(`${op} ${path} is not known here`)
    const spec = policy.spec as Record<string, unknown>
    spec[list] = end === undefined ? value : [...(spec[list] as readonly unknown[]), value]
  }
  return policy
}

/**
 * Says whether a network policy lets a pod connect to a port, by the rules of networking.k8s.io/v1: an ingress rule
 * admits what one of its `from` and one of its `ports` match; within one peer, both selectors have to. Knows
 * `matchLabels`, and ports by their name.
 */
export const admits = ({ namespace, pod }: Peer, portName: string, { spec }: Tree = productionPolicy()): boolean =>
  list((spec as Tree).ingress ?? []).some(
    (rule) =>
      list(at(rule, 'ports')).some(({ port }) => port === portName) &&
      list(at(rule, 'from')).some(
        ({ namespaceSelector, podSelector }) =>
          // A peer without a namespace selector is one of the gateways' own namespace.
          namespaceSelector !== undefined &&
          matches(namespaceSelector, namespace) &&
          (podSelector === undefined || matches(podSelector, pod)),
      ),
  )

/** Says whether it lets the gateways connect to a port of a pod elsewhere, by the same rules. */
export const allows = ({ namespace, pod }: Peer, portNumber: number, policy: Tree = productionPolicy()): boolean =>
  list(at(policy, 'spec', 'egress')).some(
    (rule) =>
      list(at(rule, 'ports')).some(({ port }) => port === portNumber) &&
      list(at(rule, 'to')).some(
        ({ namespaceSelector, podSelector }) =>
          (namespaceSelector === undefined
            ? Object.keys(namespace).length === 0
            : matches(namespaceSelector, namespace)) &&
          (podSelector === undefined || matches(podSelector, pod)),
      ),
  )

const matches = (selector: unknown, labels: Tree): boolean =>
  Object.entries(at(selector, 'matchLabels') as Tree).every(([name, value]) => labels[name] === value)

const list = (value: unknown): readonly Tree[] => value as readonly Tree[]
