/**
 * Lists the packages that ship with the gateway by licence: `npm run licences`. Exits with 1 when a package has a
 * licence that is not on the allow-list.
 *
 * npm copies the `license` of each package into package-lock.json, so nothing has to be installed and no registry is
 * asked. Node and Debian, which the image adds, have licences of their own and are not listed.
 */
import { readFileSync } from 'node:fs'

/** The licences that a package may have, as SPDX names them. A closed product may ship a package under each of them. */
export const allowedLicences: readonly string[] = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-3-Clause', 'ISC', 'MIT']

/** A package that `npm ci --omit=dev` installs. */
export interface ShippedPackage {
  readonly name: string
  readonly version: string
  /** The SPDX expression that the package states; null: it states none. */
  readonly licence: string | null
}

/** An entry of package-lock.json: what is read of it. */
interface LockedPackage {
  readonly version?: string
  readonly license?: string
  readonly dev?: boolean
}

export interface PackageLock {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** Reads the lock file of this checkout. */
export const readPackageLock = (): PackageLock =>
  JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'))

/** Returns whether production installs a package. */
export const isShipped = ({ dev }: LockedPackage): boolean => dev !== true

/** Lists the packages of a lock file that production installs. The entry '' is the gateway itself. */
export const shippedPackages = ({ packages }: PackageLock): readonly ShippedPackage[] =>
  Object.entries(packages)
    .filter(([path, locked]) => path !== '' && isShipped(locked))
    .map(([path, { version = '', license }]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      licence: license ?? null,
    }))

/**
 * Lists the packages whose licence is not on the allow-list. An expression such as `(MIT OR GPL-2.0)` has to stand
 * there as it is written.
 */
export const disallowedPackages = (shipped: readonly ShippedPackage[]): readonly ShippedPackage[] =>
  shipped.filter(({ licence }) => licence === null || !allowedLicences.includes(licence))

if (import.meta.main) {
  const shipped = shippedPackages(readPackageLock())
  const byLicence = Map.groupBy(shipped, ({ licence }) => licence ?? 'no licence')
  for (const [licence, packages] of [...byLicence].sort(([a], [b]) => a.localeCompare(b)))
    console.log(
      `${licence} (${packages.length})\n${packages.map(({ name, version }) => `  ${name} ${version}\n`).join('')}`,
    )
  const disallowed = disallowedPackages(shipped)
  for (const { name, version, licence } of disallowed)
    console.error(`${name} ${version}: ${licence ?? 'no licence'} is not on the allow-list of scripts/licences.ts`)
  if (disallowed.length > 0) process.exitCode = 1
}
