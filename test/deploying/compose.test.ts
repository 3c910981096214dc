import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { DCLinter } from 'dclint'
import { expect, test } from 'vitest'
import { at, documentsOf, examples, read, root, scratch } from './files.ts'

const file = `${examples}/compose/compose.yaml`

/** What dclint says of a file: its own types do not resolve for an ES module. */
interface LintResult {
  readonly messages: readonly { readonly rule: string; readonly message: string }[]
}

/** Checks a file against the schema of the Compose specification and the rules of dclint; returns its messages. */
const problemsOf = (path: string): readonly string[] =>
  new DCLinter({ rules: {}, quiet: false, debug: false, exclude: [] })
    .lintFiles([path], false)
    .flatMap(({ messages }: LintResult) => messages.map(({ rule, message }) => `${rule}: ${message}`))

test('compose.yaml is valid, and breaks no rule of the linter', () => {
  expect(problemsOf(join(root, file))).toEqual([])
})

test.each(['read_only:', 'cap_drop:', 'stop_grace_period:', 'services:', 'create_host_path:'])(
  'a misspelt %s is a problem',
  (key) => {
    const folder = scratch({ 'compose.yaml': read(file).replace(key, `x${key}`) })

    expect(problemsOf(join(folder, 'compose.yaml')).join()).toMatch('invalid-schema')
  },
)

test('the image is built from this checkout, and no registry is asked for its name', () => {
  const gateway = at(documentsOf(read(file))[0], 'services', 'gateway')

  const context = join(root, dirname(file), String(at(gateway, 'build', 'context')))
  expect(relative(root, context)).toBe('')
  expect(at(gateway, 'build')).not.toHaveProperty('dockerfile') // the Dockerfile of the context
  expect(existsSync(join(context, 'Dockerfile'))).toBe(true)
  expect(at(gateway, 'pull_policy')).toBe('build')
})

test('what is mounted is there, beside the file', () => {
  const source = String(at(documentsOf(read(file))[0], 'services', 'gateway', 'volumes', 0, 'source'))

  expect(existsSync(join(root, dirname(file), source, 'gateway.yaml'))).toBe(true)
})

test('the container runs on a read-only root, without a privilege, and publishes the public port alone', () => {
  const gateway = at(documentsOf(read(file))[0], 'services', 'gateway')

  expect(gateway).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    ports: [expect.stringMatching(/:8080:8080$/)],
  })
  expect(gateway).not.toHaveProperty('healthcheck') // the image's own
  expect(at(gateway, 'volumes', 0)).toMatchObject({
    source: './gateway',
    target: '/etc/lender-gateway',
    read_only: true,
  })
})
