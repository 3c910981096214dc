/**
 * Holds together what two files say of one thing: times to stop, ports, and which client asks the admin listener for
 * what.
 */
import { expect, test } from 'vitest'
import { durations } from '../../../src/core/lib/text/units.ts'
import { load, tokenBeside } from './configurations.ts'
import { at, documentsOf, examples, manifestOf, read } from './files.ts'

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
