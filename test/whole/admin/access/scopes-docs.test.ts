import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { routeScopes } from '../../../../src/core/admin/access/authorize.ts'
import { operatorScopes } from '../../../../src/core/lib/operators.ts'

const page = readFileSync(new URL('../../../../docs/admin.md', import.meta.url), 'utf8')
const [, section = ''] = page.split(/^## Operators$/m)

test('docs/admin.md has the scope of every request, and no other', () => {
  const [, table = ''] = section.split('| request | scope |')
  const rows = (table.split('\n\n')[0] ?? '').split('\n').slice(2)
  const documented = rows.flatMap((row) => {
    const [, requests = '', scope = ''] = row.split('|')
    const word = scope.replaceAll('`', '').trim()
    return [...requests.matchAll(/`((?:GET|POST|DELETE) [^`]*)`/g)].map(([, request]) => `${request}: ${word}`)
  })

  const isPage = ({ path }: (typeof routeScopes)[number]): boolean => path.startsWith('/actions/')
  const built = routeScopes
    .filter((route) => !isPage(route))
    .map(({ method, path, scope }) => `${method} ${path}: ${scope}`)
  expect(documented.toSorted()).toEqual(built.toSorted())
  expect(rows.at(-1)).toContain('| `GET` and `POST` of [`/actions/…`](#actions) | `operate` |')
  expect(routeScopes.filter(isPage).every(({ scope }) => scope === 'operate')).toBe(true)
})

test('it has the scopes, the least first', () => {
  const [, table = ''] = section.split('| scope | opens |')
  const scopes = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| `(\w+)`/gm)].map(([, scope]) => scope)

  expect(scopes).toEqual(operatorScopes)
})
