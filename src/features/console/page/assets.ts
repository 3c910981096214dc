import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { sendProblem } from '../../../core/admin/admin-error.ts'
import { targetPath } from '../../../core/admin/url.ts'

const ownAsset = (name: string): string => fileURLToPath(new URL(`./assets/${name}`, import.meta.url))
const { resolve } = createRequire(import.meta.url)

const assetFiles = {
  'page.css': ownAsset('page.css'),
  'page.js': ownAsset('page.js'),
  'stream.js': ownAsset('stream.js'),
  'sections.js': ownAsset('sections.js'),
  'charts.js': ownAsset('charts.js'),
  'controls.js': ownAsset('controls.js'),
  'uplot.css': resolve('uplot/dist/uPlot.min.css'),
  'uplot.js': resolve('uplot/dist/uPlot.iife.min.js'),
  'idiomorph.js': resolve('idiomorph/dist/idiomorph.min.js'),
} as const

let loaded: ReturnType<typeof readAssets> | null = null

/** Read once: an upgrade may replace the files. */
const loadAssets = () => {
  loaded ??= readAssets()
  return loaded
}

const readAssets = () => {
  const contents = new Map(Object.entries(assetFiles).map(([name, file]) => [name, readFileSync(file)]))
  return { version: hash('sha256', Buffer.concat([...contents.values()])).slice(0, 16), contents }
}

/** Contains the hash of all assets, so that no browser shows an earlier version's. */
export const assetPath = (name: keyof typeof assetFiles): string => `/assets/${loadAssets().version}/${name}`

export const assetsVersion = (): string => loadAssets().version

/** Public: the login page needs them. */
export const registerAssets = (app: FastifyInstance): void => {
  const { version, contents } = loadAssets()
  const tag = `"${version}"`
  app.get('/assets/*', async ({ url, headers }, reply) => {
    const [requested, name = ''] = targetPath(url).split('/').slice(-2)
    const content = contents.get(name)
    if (content === undefined) return sendProblem(reply, notFound)
    reply.headers({ ...fields, ETag: tag, 'Content-Type': name.endsWith('.css') ? css : js })
    // A page of another version gets the current asset, and does not store it.
    reply.header('Cache-Control', requested === version ? 'public, max-age=31536000, immutable' : 'no-cache')
    return headers['if-none-match'] === tag ? reply.code(304).send() : reply.send(content)
  })
}

const css = 'text/css; charset=utf-8'
const js = 'text/javascript; charset=utf-8'

const fields = { 'X-Content-Type-Options': 'nosniff', 'Cross-Origin-Resource-Policy': 'same-origin' }

const notFound = { status: 404, code: 'not-found', detail: `one of ${Object.keys(assetFiles).join(', ')} is expected` }
