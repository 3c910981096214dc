/**
 * Every command that README.md and docs print works as it is printed: run by commands.drill.ts, run by a test of its
 * own, or what it names is there.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mentioned, printed, root } from '../../helpers/printed.ts'
import { namesIn } from './names.ts'
import { isFor, rules, wayOf } from './ways.ts'

describe('the list of ways', () => {
  test('has one for every command that is printed: a new one has to be put in', () => {
    expect(printed.filter((command) => wayOf(command) === null)).toEqual([])
    expect(printed.length).toBeGreaterThan(100)
  })

  test('has none that no command is for', () => {
    expect(rules.filter((rule) => !printed.some((command) => isFor(rule, command)))).toEqual([])
  })

  test('names tests that there are', () => {
    const tests = rules.flatMap(({ way }) => (way.how === 'elsewhere' ? [way.test] : []))

    expect(tests.filter((name) => !existsSync(join(root, name)))).toEqual([])
  })
})

describe('what is not run', () => {
  const unrun = printed.filter((command) => wayOf(command)?.how === 'read')

  test.each(unrun)('names things that are there: $text', ({ text }) => {
    const names = namesIn(text)

    expect(names.filter(({ isThere }) => !isThere)).toEqual([])
    expect(names.length).toBeGreaterThan(0)
  })

  test('nor does running text name anything that is not', () => {
    const missing = mentioned.flatMap(({ page, text }) =>
      namesIn(text).flatMap(({ name, isThere }) => (isThere ? [] : [`${page}: ${name}`])),
    )

    expect(missing).toEqual([])
    expect(mentioned.length).toBeGreaterThan(50)
  })

  test.each([
    'npx lender-gateway statsu',
    'kubectl exec deployment/lender-gateway -- lender-gateway status --redy',
    'kubectl rollout status deployment/lender-gate',
    'kubectl create secret generic lender-gateway-admins --from-literal=admin-token=x',
    'docker run --rm lender-gateway:0.0.1',
    'docker compose exec gate lender-gateway status',
    'systemctl restart lender',
    'npm run benhc',
  ])('a slip is found: %s', (text) => {
    const names = namesIn(text)

    expect(names.length > 0 && names.every(({ isThere }) => isThere)).toBe(false)
  })
})
