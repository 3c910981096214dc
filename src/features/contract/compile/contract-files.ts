import { realpathSync } from 'node:fs'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { type SourceFile, toSourceFile } from '../../../core/config/load/source-files.ts'
import { quote } from '../../../core/config/problem.ts'
import { suggestNearest } from '../../../core/config/suggest.ts'
import { asPlainObject, unescapeSegment } from '../../../core/lib/plain-object.ts'
import { tryOrNull } from '../../../core/lib/try.ts'
import { type ContractFile, maxContractBytes, readContractFile } from './contract-file.ts'
import { type ContractFindings, type ContractNode, childOf, type NodePlace, nodeKey } from './contract-node.ts'

// The serving thread compares all files every `reload.poll`.
const maxFiles = 64

export type ContractFiles = ReturnType<typeof openContractFiles>

/**
 * References stay in the configured file's folder: else an author of a document could choose what the gateway reads.
 */
export const openContractFiles = (main: string, findings: ContractFindings) => {
  const folder = dirname(main)
  const realFolder = tryOrNull(() => realpathSync(folder)) ?? folder
  const files = new Map<string, ContractFile | string>()
  const links: ReferenceLink[] = []
  const sources: SourceFile[] = []
  let bytesLeft = maxContractBytes

  const read = (file: string): ContractFile | string => {
    const known = files.get(file)
    if (known !== undefined) return known
    if (files.size >= maxFiles) return `the contract has more than ${maxFiles} files`
    const given = readContractFile(file, bytesLeft)
    const isTooLarge = given === 'it is too large'
    const result = isTooLarge ? 'the files of a contract may have 8MiB together' : given
    files.set(file, result)
    if (typeof result === 'string')
      // The watcher reads with this limit; a larger limit would show a change at each poll.
      sources.push(toSourceFile(file, null, isTooLarge ? bytesLeft : maxContractBytes))
    else {
      sources.push(result.source)
      bytesLeft -= result.length
    }
    return result
  }

  const follow = (from: ContractNode, name: string, reject: Reject): ContractFile | null => {
    const decoded = decode(name)
    if (decoded === null) return reject('the percent-encoding of the reference is broken')
    const file = resolve(dirname(from.file.file), decoded)
    // Symbolic links may stay in the folder, as those of a mounted ConfigMap do.
    const real = tryOrNull(() => realpathSync(file))
    const isOut = real === null ? isOutside(folder, file) : isOutside(realFolder, real)
    if (isOut) return reject(leadsOut, 'copy the file into the folder, and not a link to it')
    const found = read(file)
    if (typeof found === 'string')
      return reject(`the file cannot be read: ${found}`, 'a path starts at the folder of the file with the reference')
    for (const problem of found.problems) findings.add(from, problem)
    return found.tree === undefined ? null : found
  }

  const resolveReference = (from: ContractNode, reference: string): ContractNode | null => {
    const at = childOf(from, '$ref')
    const reject: Reject = (message, hint, expected = inFolder) => {
      findings.error(at, { message, expected, found: quote(reference), hint })
      return null
    }
    const [name = '', ...fragments] = reference.split('#')
    if (/^[a-z][a-z0-9+.-]*:/i.test(name) || name.startsWith('//'))
      return reject(leadsOut, 'copy the file into the folder')
    if (isAbsolute(name) || name.includes('\\') || name.includes('\0'))
      return reject('the reference is no relative path', 'write the path from the file of the reference')
    if (name !== '' && asPlainObject(from.file.tree).$self !== undefined)
      return reject(
        'the reference starts at the $self of its file, which is not read',
        'remove $self: the reference then starts at the folder of its file',
        'a reference within the file, or no $self',
      )
    const file = name === '' ? from.file : follow(from, name, reject)
    if (file === null) return null
    const node = findNode(file, fragments.join('#'), reject)
    if (node !== null) links.push([from, node])
    return node
  }

  return { findings, links, sources, read, resolve: resolveReference }
}

type Reject = (message: string, hint?: string, expected?: string) => null

const leadsOut = 'the reference leads out of the folder of the contract'

const findNode = (file: ContractFile, fragment: string, reject: Reject): ContractNode | null => {
  const segments = readPointer(fragment)
  if (segments === null)
    return reject(
      'the part behind # is no JSON pointer',
      'names of $anchor and $id are not followed: write the path to the schema',
      'one such as #/components/schemas/Asset',
    )
  let node: ContractNode = { file, path: [], value: file.tree }
  for (const segment of segments) {
    const next = childOf(node, Array.isArray(node.value) ? Number(segment) : segment)
    if (next.value === undefined) {
      const near = suggestNearest(segment, Object.keys(asPlainObject(node.value)))
      const place = node.path.length === 0 ? 'the file' : `#/${node.path.join('/')}`
      const hint = near === undefined ? 'add it there, or mend the reference' : `did you mean ${near}?`
      return reject('the reference leads nowhere', hint, `${quote(segment)} to be in ${place}`)
    }
    node = next
  }
  return node
}

const inFolder = 'a file in the folder of the contract, or below it'

const isOutside = (folder: string, file: string): boolean => {
  const path = relative(folder, file)
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path)
}

const decode = (text: string): string | null => tryOrNull(() => decodeURIComponent(text))

/** RFC 6901 §6; null: the fragment is no pointer. */
const readPointer = (fragment: string): readonly string[] | null => {
  const pointer = decode(fragment)
  if (pointer === null || (pointer !== '' && !pointer.startsWith('/'))) return null
  return pointer.split('/').slice(1).map(unescapeSegment)
}

type ReferenceLink = readonly [from: NodePlace, target: NodePlace]

/** By the files, since the bundle leaves out what is broken. */
export const findUsedPlaces = (paths: NodePlace, links: readonly ReferenceLink[]): ((node: NodePlace) => boolean) => {
  const around = links.flatMap(([from, target]) => placesAround(from).map((key) => ({ key, target })))
  const below = Map.groupBy(around, ({ key }) => key)
  const used = new Set<string>()
  const open = [paths]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const key = nodeKey(place)
    if (used.has(key)) continue
    used.add(key)
    for (const { target } of below.get(key) ?? []) open.push(target)
  }
  return (node) => placesAround(node).some((key) => used.has(key))
}

const placesAround = ({ file, path }: NodePlace): readonly string[] =>
  Array.from({ length: path.length + 1 }, (_, length) => nodeKey({ file, path: path.slice(0, length) }))
