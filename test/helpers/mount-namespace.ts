/**
 * Runs a command with file systems of its own, as a container has them: no other process sees them, and they end with
 * it.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const mounting = (script: string, ...args: readonly string[]): readonly string[] => [
  'unshare',
  '--map-root-user',
  '--mount',
  'sh',
  '-ec',
  `${script}; exec "$@"`,
  ...args,
]

/** Gives it a small file system at a folder, of which a file `filler` takes the most. */
export const onSmallDisk = (folder: string): readonly string[] =>
  mounting('mount -t tmpfs -o size=96k none "$0"; head -c 65536 /dev/zero > "$0/filler"', folder)

/** Lets it find the names of `hosts` and no others. Both are files; it sees what is written to them while it runs. */
export const withHostsFile = (hosts: string, nsswitch: string): readonly string[] =>
  mounting('mount --bind "$0" /etc/hosts; mount --bind "$1" /etc/nsswitch.conf; shift', hosts, nsswitch)

/** Whether that is permitted here. */
export const mountsPermitted = ((): boolean => {
  const folder = mkdtempSync(join(tmpdir(), 'disk-'))
  const { status } = spawnSync('unshare', [...onSmallDisk(folder).slice(1), 'true'])
  rmSync(folder, { recursive: true })
  if (status !== 0) console.warn('skipped: no mount namespace is permitted here')
  return status === 0
})()
