/** Holds the manifests that are made of other files to those files. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { madeManifests, makeHttpRoute, makePrometheusRule } from '../../scripts/manifests.ts'

test.each(madeManifests())('$file is as `npm run manifests` writes it', ({ file, text }) => {
  const there = readFileSync(new URL(`../../config/examples/${file}`, import.meta.url), 'utf8')

  expect(there === text, '`npm run manifests` writes it').toBe(true)
})

test('the route is for the host names and the base path of the configuration, so that making it again changes neither', () => {
  const made = makeHttpRoute(
    'listen: { hosts: [a.example.net, "a.example.net:8443", b.example.net], basePath: /lender }',
  )

  expect(made).toMatch(/hostnames:\n +- a\.example\.net\n +- b\.example\.net\n/)
  expect(made.match(/value: \/lender\/\w/g)).toHaveLength(9)
  expect(makeHttpRoute('listen: {}')).not.toContain('hostnames')
})

test('the commands of the rules run in the pod that `instance` names, since nobody else reaches its admin listener', () => {
  const made =
    makePrometheusRule(`# \`command\` runs in a checkout, whose address is the label \`instance\`: by https, where
# config/gateway.yaml names it.
          command: lender-gateway diff --admin http://{{ $labels.instance }}
          command: lender-gateway tail --rejected --since 10m
`)

  expect(made.match(/(?<=command: ).*/g)).toEqual([
    'kubectl exec -it {{ $labels.instance }} -- lender-gateway diff',
    'kubectl exec -it deployment/lender-gateway -- lender-gateway tail --rejected --since 10m',
  ])
  for (const { file, text } of madeManifests()) expect([file, /npx|--admin|checkout/.exec(text)]).toEqual([file, null])
})
