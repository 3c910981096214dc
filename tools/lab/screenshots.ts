/**
 * Takes the pictures of the page that the README shows: of a real gateway of two workers, with a load and with faults,
 * after as many minutes as the charts are to show (15 unless said): `node tools/lab/screenshots.ts [MINUTES] [FOLDER]`.
 * Wants Debian's chromium and pngquant.
 */
import { execFileSync, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { now, sleep } from '../../src/core/lib/clock.ts'
import { allOperations, type Group, groups } from '../../src/operations.ts'
import { freePort } from '../../test/helpers/free-port.ts'
import { installProgram } from '../../test/helpers/installed-program.ts'
import { program } from '../../test/helpers/program.ts'

const [, , minutes = '15', folder = 'docs/images'] = process.argv
const wholeMs = Number(minutes) * 60_000
const secret = 'S'.repeat(43)

/** Opens an endpoint that takes as long as a service would, longer as the minutes go by and shorter again. */
const openEndpoint = async (baseMs: number): Promise<{ readonly url: string; readonly server: Server }> => {
  const server = createServer(async (request, response) => {
    request.resume()
    const swell = 1 + 0.5 * Math.sin(now() / 47_000 + baseMs)
    await sleep(baseMs * swell * (Math.random() < 0.03 ? 4 : 0.7 + 0.6 * Math.random()))
    response.setHeader('Cache-Control', 'max-age=2').end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

const place = mkdtempSync(join(tmpdir(), 'lender-gateway-'))
const file = join(place, 'gateway.yaml')
const [port, adminPort] = [await freePort(), await freePort()]
const [base, admin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${adminPort}`]
const behind = Object.fromEntries(
  await Promise.all(
    groups.map(async (group, i) => [group, await Promise.all([openEndpoint(9 + 11 * i), openEndpoint(12 + 9 * i)])]),
  ),
) as Readonly<Record<Group, Awaited<ReturnType<typeof openEndpoint>>[]>>

const configuration = (more: object = {}): string =>
  JSON.stringify(
    {
      instance: { name: 'gateway-eu-1', environment: 'production', color: 'red' },
      workers: 2,
      listen: { port },
      admin: { port: adminPort },
      log: { access: false },
      audit: { file: join(place, 'audit.log'), key: 'file:audit-key' },
      reload: { preflight: 'none' },
      auth: { methods: ['apiKey'], identityField: 'X-Client-Id' },
      clients: ['bank-a', 'bank-b', 'broker-c'].map((id) => ({
        ...{ id, operations: 'all', disabled: id === 'broker-c' },
        apiKeys: [{ id, sha256: hash('sha256', secret) }],
      })),
      upstreams: Object.fromEntries(groups.map((group) => [group, { endpoints: behind[group].map(({ url }) => url) }])),
      operations: { 'market.insights': { cache: true }, 'analysis.esg-grant': { deadline: '5s' } },
      ...more,
    },
    null,
    2,
  )
writeFileSync(join(place, 'audit-key'), 'k'.repeat(32))
writeFileSync(file, configuration())

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const serve = [main, 'serve', '--config', 'gateway.yaml']
const gateway = spawn(process.execPath, serve, {
  cwd: place,
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, PATH: installProgram(place) },
})
const command = (path: string, body: object): Promise<Response> =>
  fetch(admin + path, { method: 'POST', body: JSON.stringify(body) })
for (let up = false; !up; await sleep(200)) up = (await fetch(`${admin}/ready`).catch(() => null))?.ok === true

let stopped = false
/** Asks again and again, `perSecond` times on average, more and fewer as the minutes go by. */
const ask = async (path: string, init: RequestInit, perSecond: number): Promise<void> => {
  while (!stopped) {
    await fetch(base + path, init).then(
      (response) => response.arrayBuffer(),
      () => {},
    )
    await sleep(1000 / (perSecond * (1 + 0.4 * Math.sin(now() / 61_000 + perSecond))))
  }
}
const headers = { 'X-Api-Key': `bank-a.${secret}` }
const load = [
  ...allOperations.map(({ method, path }, i) => ask(`${path}?q=${i}`, { method, headers }, 2 + ((i * 5) % 7))),
  ask('/market/insights', { headers: { 'X-Api-Key': `bank-a.${'T'.repeat(43)}` } }, 0.2),
  ask('/leads/pipeline', { headers: { 'X-Api-Key': `broker-c.${secret}` } }, 0.15),
  ask('/Risk/asset-valuation/', { method: 'POST', headers }, 0.1),
]

const began = now()
const at = (share: number): Promise<void> => sleep(Math.max(0, began + share * wholeMs - now()))
await at(0.45)
writeFileSync(file, configuration({ operations: { 'market.insights': { cache: true, deadline: '8s' } } }))
for (const [i, share] of [0.6, 0.72].entries()) {
  await at(share)
  behind.risk[i]?.server.close().closeAllConnections()
}
await at(0.86)
writeFileSync(file, configuration({ operations: { 'market.insight': { cache: true } } }))
await at(0.93)
await command('/endpoints/drain', { group: 'compliance', url: behind.compliance[1]?.url })
await command('/operations/reject', { operation: 'inventory.sync' })
await at(1)

const { path: executablePath } = await program('chromium')
const { path: pngquant } = await program('pngquant')
const browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
for (const [name, width, height, scale, colorScheme] of [
  ['page-1280-light', 1280, 1460, 1, 'light'],
  ['page-phone-dark', 390, 1180, 1.5, 'dark'],
] as const) {
  const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: scale, colorScheme })
  await page.goto(admin)
  await page.waitForSelector('#live[data-state=on]')
  await page.waitForSelector('.chart canvas', { state: 'attached' }) // on a phone, charts of what is well are hidden
  await sleep(500)
  const picture = join(folder, `${name}.png`)
  await page.screenshot({ path: picture })
  if (pngquant !== null) execFileSync(pngquant, ['--force', '--strip', '--output', picture, '64', picture])
}
await browser.close()

stopped = true
gateway.kill('SIGTERM')
await new Promise((resolve) => gateway.once('exit', resolve))
await Promise.all(load)
for (const { server } of groups.flatMap((group) => behind[group])) server.close().closeAllConnections()
rmSync(place, { recursive: true })
