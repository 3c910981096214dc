import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fullCommandLine } from '../../helpers/command-line.ts'
import { execForm, only, stagesOf } from './dockerfile.ts'
import { at, documentsOf, examples, manifestOf, read, root } from './files.ts'

const stages = stagesOf(read('Dockerfile'))
const [build = [], final = []] = stages
const lock = JSON.parse(read('package-lock.json'))
const npmStart: string = JSON.parse(read('package.json')).scripts.start
/** The flags of Node that `npm start` gives. */
const nodeFlags = (/\bnode ((?:--\S+ )+)src\/main\.ts/.exec(npmStart)?.[1] ?? '').trim().split(' ')
const mounted = '/etc/lender-gateway/gateway.yaml'

test('both stages stand on the slim image of the very Node that the tests run on', () => {
  const { version } = lock.packages['node_modules/node']

  expect(stages).toHaveLength(2)
  expect(only(build, 'FROM')).toMatch(/ AS build$/)
  expect(only(final, 'FROM')).toBe(only(build, 'FROM').replace(' AS build', ''))
  expect(only(final, 'FROM')).toMatch(new RegExp(`^node:${version.replaceAll('.', '\\.')}-[a-z]+-slim$`))
})

test('each image that an example starts has a whole version: a tag that moves would change what runs by a restart', () => {
  const images = readdirSync(join(root, examples), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => [...read(`${examples}/${name}`).matchAll(/^ *image: *(\S+)/gm)].map(([, image = '']) => image))

  expect(images.length).toBeGreaterThan(7)
  expect(images.filter((image) => !/:v?\d+\.\d+\.\d+$/.test(image))).toEqual([])
})

test('it runs as a number that is not root, the one that the manifests name', () => {
  const [user, group] = only(final, 'USER').split(':')

  expect(Number(user)).toBeGreaterThan(10_000)
  expect(at(manifestOf('Deployment'), 'spec', 'template', 'spec', 'securityContext')).toMatchObject({
    runAsUser: Number(user),
    runAsGroup: Number(group),
    fsGroup: Number(group),
  })
})

test('entry point, command and health check start Node without a shell, on the configuration that is mounted', () => {
  const [, health = ''] = only(final, 'HEALTHCHECK').split(' CMD ')

  expect(execForm(only(final, 'ENTRYPOINT'))).toEqual(['node', ...nodeFlags, '/app/src/main.ts'])
  expect(execForm(only(final, 'CMD'))).toEqual(['serve', '--config', mounted])
  expect(execForm(health)).toEqual(['node', '/app/src/main.ts', 'status', '--ready', '--config', mounted])
  expect(fullCommandLine().commands.map((command) => command.name())).toEqual(
    expect.arrayContaining(['serve', 'status']),
  )
})

test('npm start, the image and the unit give Node the same flags', () => {
  expect(nodeFlags).toEqual(['--disable-sigusr1', '--max-semi-space-size=16'])
  expect(read(`${examples}/systemd/lender-gateway.service`)).toContain(`node ${nodeFlags.join(' ')} src/main.ts`)
  expect(read('docs/deploying.md')).toContain(`node ${nodeFlags.join(' ')} /app/src/main.ts`)
})

test('npm start, the image and the unit limit the arenas of glibc alike, and npm start keeps a limit that is already set', () => {
  const arenas = /\bMALLOC_ARENA_MAX=\$\{MALLOC_ARENA_MAX-(\d+)\}/.exec(npmStart)?.[1]

  expect(arenas).toBe('2')
  expect(only(final, 'ENV').split(' ')).toContain(`MALLOC_ARENA_MAX=${arenas}`)
  expect(read(`${examples}/systemd/lender-gateway.service`)).toContain(`Environment=MALLOC_ARENA_MAX=${arenas}`)
})

test('the configuration is mounted in the same place by every example', () => {
  const folder = mounted.replace('/gateway.yaml', '')
  const pod = at(manifestOf('Deployment'), 'spec', 'template', 'spec')
  const compose = documentsOf(read(`${examples}/compose/compose.yaml`))[0]

  expect(at(pod, 'containers', 0, 'volumeMounts', 0, 'mountPath')).toBe(folder)
  expect(at(compose, 'services', 'gateway-a', 'volumes', 0, 'target')).toBe(folder)
})

test('the public port alone is exposed', () => {
  expect(only(final, 'EXPOSE')).toBe('8080')
})

test('it is labelled and tagged with the version of the package', () => {
  const { version } = JSON.parse(read('package.json'))
  const tag = `lender-gateway:${version}`

  expect(only(final, 'LABEL')).toMatch(`org.opencontainers.image.version="${version}"`)
  expect(only(final, 'LABEL')).toMatch(`base.name="docker.io/library/${only(final, 'FROM')}"`)
  expect(at(manifestOf('Deployment'), 'spec', 'template', 'spec', 'containers', 0, 'image')).toBe(tag)
  expect(at(documentsOf(read(`${examples}/compose/compose.yaml`))[0], 'services', 'gateway-a', 'image')).toBe(tag)
  const production = documentsOf(read(`${examples}/kubernetes/overlays/production/kustomization.yaml`))[0]
  expect(at(production, 'images', 0, 'newTag')).toBe(version)
})

test('packages are installed as locked, without those of development and without running a script of theirs', () => {
  const packages: Readonly<Record<string, { readonly dev?: boolean; readonly hasInstallScript?: boolean }>> =
    lock.packages
  const install = build.map(({ rest }) => rest).find((rest) => rest.includes('npm ci'))

  expect(install).toMatch('npm ci --omit=dev --ignore-scripts')
  expect(
    Object.entries(packages).filter(([, { dev, hasInstallScript }]) => hasInstallScript === true && dev !== true),
  ).toEqual([])
})

test('the build is given what it copies, and nothing else', () => {
  const copied = [...build, ...final]
    .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
  const allowed = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))

  expect(allowed[0]).toBe('*')
  expect(allowed.slice(1).sort()).toEqual(copied.map((path) => `!${path}`).sort())
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([])
})
