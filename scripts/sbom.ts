/**
 * Prints what ships with the gateway as CycloneDX (JSON): `npm run --silent sbom > sbom.json`. npm writes it, from
 * package-lock.json alone.
 *
 * npm is given a package.json and a lock file without what is for development. `npm sbom --omit dev` leaves out what
 * production and development both depend on, `yaml` and `jose` among them (https://github.com/npm/cli/issues/7909), and
 * adds what else lies in node_modules.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isShipped, readPackageLock } from './licences.ts'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const lock = readPackageLock()
const shipped = Object.fromEntries(Object.entries(lock.packages).filter(([, locked]) => isShipped(locked)))

const production = { devDependencies: undefined }
const files = {
  'package.json': { ...manifest, ...production },
  'package-lock.json': { ...lock, packages: { ...shipped, '': { ...lock.packages[''], ...production } } },
}

// npm names the gateway by its folder.
const scratch = mkdtempSync(join(tmpdir(), 'sbom-'))
const folder = join(scratch, manifest.name)
try {
  mkdirSync(folder)
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(content))
  const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
  execFileSync('npm', args, { cwd: folder, stdio: 'inherit' })
} finally {
  rmSync(scratch, { recursive: true })
}
