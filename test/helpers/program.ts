/** The one way in which a test or the bench asks for a program of Debian's. */
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** Returns where a program is, or in one line why there is none. */
export type Program =
  | { readonly path: string; readonly missing: null }
  | { readonly path: null; readonly missing: string }

/** Names what a search depends on, so that a test can put another machine in its place. */
export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Directories, in the order of the search. */
  readonly directories: readonly string[]
  readonly isRoot: boolean
  /** Runs an installation of a Debian package; throws when it fails. */
  readonly install: (packageName: string) => Promise<void>
}

/** Lists the programs whose Debian package has another name. */
const packages: Readonly<Record<string, string>> = {
  nginx: 'nginx-light',
  apache2: 'apache2-bin',
  php: 'php-cli',
  go: 'golang-go',
  java: 'openjdk-17-jre-headless',
  javac: 'openjdk-17-jdk-headless',
  h2load: 'nghttp2-client',
  nghttp: 'nghttp2-client',
  perf: 'linux-perf',
  prlimit: 'util-linux',
  kubectl: 'kubernetes-client',
  promtool: 'prometheus',
  'redis-cli': 'redis-tools',
  script: 'bsdutils',
  stunnel: 'stunnel4',
  'systemd-analyze': 'systemd',
  'systemd-notify': 'systemd',
}

/** Limits one installation, the wait for another one included, in milliseconds. */
const installTimeoutMs = 300_000

/**
 * Finds a program, installing its package where that is possible (as root, with apt-get). Takes seconds to minutes when
 * it installs: await it at the top of a test file, where vitest sets no time limit.
 */
export const program = (name: string, machine: Machine = thisMachine()): Promise<Program> =>
  provide(name, packages[name] ?? name, () => find(name, machine.directories), machine)

/** Finds a file of a Debian package by its path, a library say, and installs the package in the same way. */
export const debianFile = (path: string, packageName: string, machine: Machine = thisMachine()): Promise<Program> =>
  provide(path, packageName, async () => ((await isThere(path, constants.R_OK)) ? path : null), machine)

const provide = async (
  name: string,
  packageName: string,
  look: () => Promise<string | null>,
  machine: Machine,
): Promise<Program> => {
  const present = await look()
  if (present !== null) return { path: present, missing: null }

  const lack = (why: string): Program => ({
    path: null,
    missing: `${name} is missing (Debian: ${packageName}): ${why}`,
  })
  if (!machine.isRoot) return lack('not root, so it cannot be installed')
  if ((await find('apt-get', machine.directories)) === null) return lack('no apt-get to install it with')
  try {
    await machine.install(packageName)
  } catch (error) {
    return lack(`apt-get failed: ${lastLine(error)}`)
  }
  const installed = await look()
  return installed === null ? lack(`not found after installing ${packageName}`) : { path: installed, missing: null }
}

/**
 * Finds a program for a test file: `const nginx = await needProgram('nginx')`, then
 * `describe.skipIf(nginx.missing)(…)`. Prints the line that says what is missing; throws it when `CI` is `true`, where
 * a skipped test would hide that nothing was shown.
 */
export const needProgram = async (name: string, machine: Machine = thisMachine()): Promise<Program> =>
  requireFound(await program(name, machine), machine)

/** Does the same for what was looked for by {@link debianFile}. */
export const requireFound = (found: Program, machine: Machine = thisMachine()): Program => {
  if (found.missing === null) return found
  if (machine.env.CI === 'true') throw new Error(found.missing)
  console.warn(`skipped: ${found.missing}`)
  return found
}

const thisMachine = (): Machine => ({
  env: process.env,
  // Debian puts servers in sbin, which is not on every user's PATH.
  directories: [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), '/usr/sbin', '/usr/local/sbin'],
  isRoot: process.getuid?.() === 0,
  install: aptInstall,
})

const find = async (name: string, directories: readonly string[]): Promise<string | null> => {
  for (const directory of directories) {
    const path = join(directory, name)
    if (await isThere(path, constants.X_OK)) return path
  }
  return null
}

const isThere = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )

/**
 * Installs without starting a service: Debian's maintainer scripts ask policy-rc.d, and one that is there already is
 * left alone. Nor is the index of manual pages built anew, three seconds of CPU time for each package. The package
 * lists are fetched only when the lists at hand do not do. Runs under flock, so that parallel test workers take turns
 * and a worker that dies leaves no lock behind.
 */
const script = `
set -eu
policy=/usr/sbin/policy-rc.d
indexing=/var/lib/man-db/auto-update
undo=:
trap 'eval "$undo"' EXIT
if [ ! -e "$policy" ]; then
  undo='rm -f "$policy"'
  printf '#!/bin/sh\\nexit 101\\n' > "$policy"
  chmod 755 "$policy"
fi
if [ -e "$indexing" ]; then
  undo="$undo; touch $indexing"
  rm -f "$indexing"
fi
options='-y -q --no-install-recommends -o DPkg::Lock::Timeout=120 -o Acquire::Retries=1 -o Acquire::http::Timeout=30'
apt-get install $options "$1" || { apt-get update -q && apt-get install $options "$1"; }
`

const aptInstall = (packageName: string): Promise<void> =>
  new Promise((resolve, reject) => {
    execFile(
      'flock',
      ['--wait', '240', join(tmpdir(), 'lender-gateway-apt.lock'), 'sh', '-c', script, 'install', packageName],
      {
        timeout: installTimeoutMs,
        maxBuffer: 16 * 1024 * 1024,
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
      },
      (error, _stdout, stderr) => {
        if (error === null) resolve()
        else reject(new Error(stderr.trim() === '' ? error.message : stderr))
      },
    )
  })

const lastLine = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error)
  return text.trim().split('\n').at(-1) ?? text
}
