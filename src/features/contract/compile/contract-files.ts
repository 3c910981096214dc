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

/** References stay in the configured file's folder: else an author of a document chose what the gateway reads. */
export class ContractFiles {
  readonly findings: ContractFindings
  readonly #folder: string
  readonly #realFolder: string
  readonly #files = new Map<string, ContractFile | string>()
  readonly #links: ReferenceLink[] = []
  readonly links: readonly ReferenceLink[] = this.#links
  readonly #sources: SourceFile[] = []
  /** Includes files that could not be read. */
  readonly sources: readonly SourceFile[] = this.#sources
  #bytesLeft = maxContractBytes

  constructor(main: string, findings: ContractFindings) {
    this.findings = findings
    this.#folder = dirname(main)
    this.#realFolder = tryOrNull(() => realpathSync(this.#folder)) ?? this.#folder
  }

  read(file: string): ContractFile | string {
    const known = this.#files.get(file)
    if (known !== undefined) return known
    if (this.#files.size >= maxFiles) return `the contract has more than ${maxFiles} files`
    const read = readContractFile(file, this.#bytesLeft)
    const isTooLarge = read === 'it is too large'
    const result = isTooLarge ? 'the files of a contract may have 8MiB together' : read
    this.#files.set(file, result)
    if (typeof result === 'string')
      // The watcher reads with this limit; a larger limit would show a change at each poll.
      this.#sources.push(toSourceFile(file, null, isTooLarge ? this.#bytesLeft : maxContractBytes))
    else {
      this.#sources.push(result.source)
      this.#bytesLeft -= result.length
    }
    return result
  }

  /** Null: there is no target, and this was reported. */
  resolve(from: ContractNode, reference: string): ContractNode | null {
    const at = childOf(from, '$ref')
    const refuse = (message: string, hint?: string, expected = inFolder): null => {
      this.findings.error(at, { message, expected, found: quote(reference), hint })
      return null
    }
    const [name = '', ...fragments] = reference.split('#')
    if (/^[a-z][a-z0-9+.-]*:/i.test(name) || name.startsWith('//'))
      return refuse('the reference leads out of the folder of the contract', 'copy the file into the folder')
    if (isAbsolute(name) || name.includes('\\') || name.includes('\0'))
      return refuse('the reference is no relative path', 'write the path from the file of the reference')
    if (name !== '' && asPlainObject(from.file.tree).$self !== undefined)
      return refuse(
        'the reference starts at the $self of its file, which is not read',
        'remove $self: the reference then starts at the folder of its file',
        'a reference within the file, or no $self',
      )
    const file = name === '' ? from.file : this.#follow(from, name, refuse)
    if (file === null) return null
    const segments = readPointer(fragments.join('#'))
    if (segments === null)
      return refuse(
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
        return refuse('the reference leads nowhere', hint, `${quote(segment)} to be in ${place}`)
      }
      node = next
    }
    this.#links.push([from, node])
    return node
  }

  #follow(from: ContractNode, name: string, refuse: (message: string, hint?: string) => null): ContractFile | null {
    const decoded = decode(name)
    if (decoded === null) return refuse('the percent-encoding of the reference is broken')
    const file = resolve(dirname(from.file.file), decoded)
    // Symbolic links may stay in the folder, as those of a mounted ConfigMap do.
    const real = tryOrNull(() => realpathSync(file))
    const isOut = real === null ? isOutside(this.#folder, file) : isOutside(this.#realFolder, real)
    if (isOut)
      return refuse(
        'the reference leads out of the folder of the contract',
        'copy the file into the folder, and not a link to it',
      )
    const read = this.read(file)
    if (typeof read === 'string')
      return refuse(`the file cannot be read: ${read}`, 'a path starts at the folder of the file with the reference')
    for (const problem of read.problems) this.findings.add(from, problem)
    return read.tree === undefined ? null : read
  }
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

/** Goes by the files, since the bundle leaves out what is broken. */
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
