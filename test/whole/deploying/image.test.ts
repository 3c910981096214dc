import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { execForm, only, stagesOf } from './dockerfile.ts'
import { at, compose, container, exampleOf, examples, pod, read, root } from './files.ts'

const stages = stagesOf(read('Dockerfile'))
const [build = [], final = []] = stages
const lock = JSON.parse(read('package-lock.json'))
const { scripts, version } = JSON.parse(read('package.json'))
const unit = read(`${examples}/systemd/lender-gateway.service`)
const production = exampleOf('kubernetes/overlays/production/kustomization.yaml')
/** The flags of Node that `npm start` gives. */
const flags = /\bnode ((?:--\S+ )+)src\/lender-gateway\.js/.exec(scripts.start)?.[1]?.trim() ?? ''
const mounted = '/etc/lender-gateway/gateway.yaml'

test('both stages stand on the slim image of the very Node that the tests run on', () => {
  const node = lock.packages['node_modules/node'].version.replaceAll('.', '\\.')

  expect(stages).toHaveLength(2)
  expect(only(build, 'FROM')).toBe(`${only(final, 'FROM')} AS build`)
  expect(only(final, 'FROM')).toMatch(new RegExp(`^node:${node}-[a-z]+-slim$`))
})

test('each image that an example starts has a whole version: a tag that moves would change what runs by a restart', () => {
  const images = readdirSync(join(root, examples), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => [...read(`${examples}/${name}`).matchAll(/^ *image: *(\S+)/gm)].map(([, image = '']) => image))

  expect(images.length).toBeGreaterThan(7)
  expect(images.filter((image) => !/:v?\d+\.\d+\.\d+$/.test(image))).toEqual([])
})

test('it runs as a number that is not root, the one that the manifests name', () => {
  const [user = 0, group] = only(final, 'USER').split(':').map(Number)

  expect(user).toBeGreaterThan(10_000)
  expect(at(pod, 'securityContext')).toMatchObject({ runAsUser: user, runAsGroup: group, fsGroup: group })
})

test('entry point, command and health check start Node without a shell, on the configuration that is mounted', () => {
  const [, health = ''] = only(final, 'HEALTHCHECK').split(' CMD ')

  expect(execForm(only(final, 'ENTRYPOINT'))).toEqual(['node', ...flags.split(' '), '/app/src/lender-gateway.js'])
  expect(execForm(only(final, 'CMD'))).toEqual(['serve', '--config', mounted])
  expect(execForm(health)).toEqual(['node', '/app/src/lender-gateway.js', 'status', '--ready', '--config', mounted])
})

const arenas = /\bMALLOC_ARENA_MAX=\$\{MALLOC_ARENA_MAX-(\d+)\}/.exec(scripts.start)?.[1] // unless it is set already

test.each([
  ['the flags of Node', flags, '--disable-sigusr1 --max-semi-space-size=16'],
  ['the flags of the unit', unit, `node ${flags} src/lender-gateway.js`],
  ['the flags of the page', read('docs/deploying.md'), `node ${flags} /app/src/lender-gateway.js`],
  ['the arenas of glibc', `${arenas}`, '2'],
  ['the arenas of the image', only(final, 'ENV'), `MALLOC_ARENA_MAX=${arenas}`],
  ['the arenas of the unit', unit, `Environment=MALLOC_ARENA_MAX=${arenas}`],
  ['the version of its label', only(final, 'LABEL'), `org.opencontainers.image.version="${version}"`],
  ['the base of its label', only(final, 'LABEL'), `base.name="docker.io/library/${only(final, 'FROM')}"`],
])('%s are those of npm start and of the package', (_, text, said) => {
  expect(text).toContain(said)
})

test.each([
  ['the place of the configuration in a pod', at(container, 'volumeMounts', 0, 'mountPath'), '/etc/lender-gateway'],
  ['that of Compose', at(compose, 'services', 'gateway-a', 'volumes', 0, 'target'), '/etc/lender-gateway'],
  ['the image of a pod', at(container, 'image'), `lender-gateway:${version}`],
  ['that of Compose', at(compose, 'services', 'gateway-a', 'image'), `lender-gateway:${version}`],
  ['the tag of production', at(production, 'images', 0, 'newTag'), version],
  ['the port that is exposed', only(final, 'EXPOSE'), '8080'],
])('%s is that of the image', (_, found, expected) => {
  expect(found).toBe(expected)
})

test('packages are installed as locked, without those of development and without running a script of theirs', () => {
  type Package = { readonly dev?: boolean; readonly hasInstallScript?: boolean }
  const scripted = Object.values<Package>(lock.packages).filter(({ hasInstallScript, dev }) => hasInstallScript && !dev)

  expect(build.find(({ rest }) => rest.includes('npm ci'))?.rest).toMatch('npm ci --omit=dev --ignore-scripts')
  expect(scripted).toEqual([])
})

test('the build is given what it copies, and nothing else', () => {
  const copied = [...build, ...final]
    .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
  const [first, ...allowed] = read('.dockerignore').match(/^[^#\n].*/gm) ?? []

  expect(first).toBe('*')
  expect(allowed.sort()).toEqual(copied.map((path) => `!${path}`).sort())
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([])
})
