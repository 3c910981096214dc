import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, join, parse, resolve } from 'node:path'

// As many as Linux follows.
const maxLinks = 40

/**
 * Lists the names that decide which contents a file has, by the folder that holds each: the file's own, and that of every symbolic link
 * on the way to it. Kubernetes changes a mounted ConfigMap by renaming one such link, `..data`, and leaves the file itself alone.
 */
export const namesByFolder = (files: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const names = new Map<string, Set<string>>()
  const note = (path: string): void => {
    const folder = dirname(path)
    const known = names.get(folder)
    const { base } = parse(path)
    if (known === undefined) names.set(folder, new Set([base]))
    else known.add(base)
  }
  for (const file of files) follow(resolve(file), note)
  return names
}

/** Walks a path part by part; `note` is told every link, and the end. */
const follow = (file: string, note: (path: string) => void): void => {
  const { root } = parse(file)
  let at = root
  let rest = file.slice(root.length).split('/')
  let links = 0
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    at = join(at, part)
    const target = links < maxLinks ? linkTarget(at) : null
    if (target === null) continue
    links++
    note(at)
    const full = resolve(dirname(at), target)
    at = root
    rest = [...full.slice(root.length).split('/'), ...rest]
  }
  note(at)
}

const linkTarget = (path: string): string | null => {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null
  } catch {
    return null // not there, for now: its folder is watched all the same
  }
}
