import { expect, test } from 'vitest'
import { at, manifestOf, manifests, type Tree } from './files.ts'
import { problemsOf } from './kubernetes-schema.ts'

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
