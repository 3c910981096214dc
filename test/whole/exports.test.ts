import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

const filesOf = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.[jt]s$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, folder, path), 'utf8') }))

// By features, if they are there.
test('what is exported is used elsewhere, if in tests or scripts alone', () => {
  const usersByWord = new Map<string, number>()
  const sources = filesOf('src')
  for (const { text } of [...sources, ...['test', 'tools', 'scripts'].flatMap(filesOf)])
    for (const word of new Set(text.match(/\w+/g))) usersByWord.set(word, (usersByWord.get(word) ?? 0) + 1)

  const unused = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/^export (?:async )?(?:const|function|class) (\w+)/gm)]
      .filter(([, name = '']) => usersByWord.get(name) === 1)
      .map(([, name]) => `${path}: ${name}`),
  )

  expect(unused).toEqual([])
})
