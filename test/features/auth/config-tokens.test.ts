import { expect, test } from 'vitest'
import { diffConfigs } from '../../../src/core/config/diff/diff-reports.ts'
import { renderEffectiveConfig } from '../../../src/core/config/diff/report.ts'
import type { LoadedConfig } from '../../../src/core/config/load/load.ts'
import { parse, sandbox } from '../../core/config/helper.ts'

const load = (key: string): LoadedConfig => {
  const jwt = `{ issuer: https://a.example, audience: [lender], jwks: "https://a.example/keys?api_key=${key}" }`
  const introspection = `{ url: "https://b.example/ask?api_key=${key}", clientId: gateway, clientSecret: secret }`
  const loaded = parse(
    `${sandbox}\nauth: { methods: [jwt, introspection], jwt: ${jwt}, introspection: ${introspection} }`,
  )
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

test('the query of a server that decides on clients is shown nowhere, and a change of it is', () => {
  const [before, after] = [load('planted-1'), load('planted-2')]

  const changes = diffConfigs(before, after)
  expect(JSON.stringify([before.report, renderEffectiveConfig(before.config), changes])).not.toContain('planted')
  expect(changes.map(({ path }) => path)).toEqual(['auth.jwt.jwks', 'auth.introspection.url'])
})
