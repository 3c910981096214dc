import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { reportConfig } from '../../../../../src/core/config/diff/report.ts'
import { withCurrentCredentials } from '../../../../../src/core/runtime/reload/rollback-target.ts'
import { folderWith, sandbox, validConfig } from '../../../../core/config/helper.ts'

const jwks = JSON.stringify({
  keys: [
    {
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    },
  ],
})
const folder = folderWith({
  jwks,
  other: jwks.replace('{"kty"', '{"kid":"a","kty"'),
  token: 'one-token-of-operators',
  second: 'two-tokens-of-operators',
})

const reported = (text: string) => {
  const config = validConfig(`${text}\n${sandbox}`, {}, `${folder}/gateway.yaml`)
  return { config, report: reportConfig(config) }
}

const client = (secret: string) =>
  `{ id: a, operations: all, apiKeys: [{ id: k, sha256: "${createHash('sha256').update(secret).digest('hex')}" }] }`
const jwt = (file: string) =>
  `jwt: { issuer: https://i.example, audience: [a], jwks: "file:${file}", algorithms: [ES256] }`

const files = [
  '',
  'listen: { maxTarget: 4KiB }\nadmin: { token: file:token }',
  'admin: { token: file:second, metricsToken: file:token }',
  `auth: { methods: [apiKey] }\nclients: [${client('one')}]`,
  `auth: { methods: [apiKey, jwt], ${jwt('jwks')} }\nclients: [${client('two')}]`,
  `auth: { methods: [apiKey, jwt], ${jwt('other')}, credentials: forward }\nclients: []`,
]

test.each(files.flatMap((now, i) => files.map((then, j) => [i, j, now, then] as const)))(
  'what is shown after a rollback is what then runs: %i, back to %i',
  (_, __, now, then) => {
    const { config, report: shown } = withCurrentCredentials(reported(now), reported(then))

    expect(shown).toEqual(reportConfig(config))
    expect(Object.keys(shown.config)).toEqual(Object.keys(reportConfig(config).config))
  },
)
