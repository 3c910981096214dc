import { createRequire, Module } from 'node:module'

/**
 * Loads @fastify/http-proxy without what it sends with, which is never used: @fastify/reply-from, with an undici of its own and Node's, and
 * `ws` are more than ten megabytes. While it is loaded, `require` finds a plugin that does nothing in their place; whoever else loads one of
 * the three gets it whole.
 */
const load = (): typeof import('@fastify/http-proxy').default => {
  const require = createRequire(import.meta.url)
  const proxy = require.resolve('@fastify/http-proxy')
  const unused = ['@fastify/reply-from', 'ws'].map((name) => createRequire(proxy).resolve(name))
  for (const path of unused) require.cache[path] = Object.assign(new Module(path), { exports: nothing, loaded: true })
  try {
    return require(proxy)
  } finally {
    for (const path of [proxy, ...unused]) delete require.cache[path]
  }
}

const nothing = (_app: unknown, _options: unknown, done: () => void): void => done()

export const httpProxy = load()
