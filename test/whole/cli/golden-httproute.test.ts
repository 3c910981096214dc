import { HTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { allOperations } from '../../../src/operations.ts'
import { expectGolden, runInProcess } from '../../golden/golden.ts'

// The file that the gateway comes with, seen from the folder where the commands run.
const shipped = ['--config', '../../../config/gateway.yaml']

test('httproute prints its golden file, which the schema of the Gateway API takes', async () => {
  const ran = await runInProcess('httproute', ...shipped, '--parent', 'edge/public', '--host', 'lender.example.com')

  expect(ran.code).toBe(0)
  expectGolden('httproute.yaml', ran.out)
  expect(() => HTTPRoute.prototype.validate.call(parse(ran.out))).not.toThrow()
})

test('and with every option the same as JSON', async () => {
  const options = ['--parent', 'edge/public/https', '--host', 'a.example', '--host', '*.b.example', '--name', 'nine']
  const more = ['--namespace', 'lending', '--service', 'gateways:80', '--format', 'json']
  const { out } = await runInProcess('httproute', ...shipped, ...options, ...more)

  const route = JSON.parse(out)
  const parentRefs = [{ namespace: 'edge', name: 'public', sectionName: 'https' }]
  expect(route.metadata).toMatchObject({ name: 'nine', namespace: 'lending' })
  expect(route.spec).toMatchObject({ parentRefs, hostnames: ['a.example', '*.b.example'] })
  expect(route.spec.rules[0].backendRefs).toEqual([{ name: 'gateways', port: 80 }])
  expect(() => HTTPRoute.prototype.validate.call(route)).not.toThrow()
})

test('the route has the nine by method and exact path, and nothing else', async () => {
  const { out } = await runInProcess('httproute', ...shipped, '--parent', 'public')
  const rules: readonly { readonly matches: readonly object[] }[] = parse(out).spec.rules

  const nine = allOperations.map(({ method, path }) => ({ method, path: { type: 'Exact', value: path } }))
  const matches = rules.flatMap((rule) => rule.matches)
  expect(matches).toHaveLength(9)
  expect(matches).toEqual(expect.arrayContaining(nine))
  for (const rule of rules) expect(rule.matches.length).toBeLessThanOrEqual(8) // as many as Gateway API 1.0 takes
})
