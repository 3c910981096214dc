import { asPlainObject, escapeSegment, isPlainObject, ownMember } from '../../../../core/lib/plain-object.ts'
import type { ContractFile } from '../contract-file.ts'
import type { ContractFiles } from '../contract-files.ts'
import { type ContractNode, childOf, nodeKey } from '../contract-node.ts'
import { isKnownDialect, mapSubSchemas, schemaKeywords } from '../schema-keywords.ts'
import * as issues from './bundle-issues.ts'
import {
  type BundledDocument,
  type CopiedMember,
  chooseComponentName,
  componentSection,
  documentShape,
  type ObjectShape,
  operationShape,
  pathItemShape,
  schemaShape,
  type TreeCopy,
} from './object-shapes.ts'
import {
  type OneWayKeyword,
  type OpenApiVersion,
  oneWayKeywords,
  splitOneWayMembers,
  toSchemaOf31,
} from './upgrade-schema.ts'

/** What is no OpenAPI is reported and left out. */
export const bundleDocument = (main: ContractFile, files: ContractFiles, version: OpenApiVersion): BundledDocument =>
  new Bundler(files, version).bundle(main)

class Bundler {
  readonly #files: ContractFiles
  readonly #version: OpenApiVersion
  readonly #origins = new WeakMap<object, ContractNode>()
  readonly #places = new Map<string, { readonly pointer: string; readonly shape: ObjectShape }>()
  readonly #faulty = new Set<object>()
  readonly #open: ((document: TreeCopy) => void)[] = []
  readonly #warned = new Set<string>()
  /** Keywords of a 3.0 document; in 3.1 they check nothing. */
  readonly #oneWay = new Set<OneWayKeyword>()

  constructor(files: ContractFiles, version: OpenApiVersion) {
    this.#files = files
    this.#version = version
  }

  bundle(main: ContractFile): BundledDocument {
    const document = this.#object({ file: main, path: [], value: main.tree }, documentShape, '')
    document.openapi = '3.1.1'
    const bundled = { document, origins: this.#origins, faulty: this.#faulty }
    // Everything of the main file has its place now.
    for (const place of this.#open) place(document)
    for (const keyword of this.#oneWay) splitOneWayMembers(bundled, keyword)
    return bundled
  }

  #place(document: TreeCopy, from: ContractNode, copy: TreeCopy, target: ContractNode, shape: ObjectShape): void {
    let place = this.#places.get(nodeKey(target))
    if (place === undefined && shape.section !== null) {
      const section = componentSection(document, shape.section)
      const name = chooseComponentName(target, section)
      const pointer = `/components/${shape.section}/${name}`
      section[name] = true // it may refer to itself
      section[name] = this.#copy(target, shape, pointer)
      place = { pointer, shape }
    }
    if (place === undefined) return
    if (place.shape === shape) copy.$ref = `#${encodeURI(place.pointer)}`
    else {
      this.#files.findings.error(childOf(from, '$ref'), issues.otherTarget(shape, place.shape))
      this.#origins.delete(copy)
      delete copy.$ref
    }
  }

  #register(node: ContractNode, shape: ObjectShape, pointer: string, copy: TreeCopy): void {
    this.#origins.set(copy, node)
    const key = nodeKey(node)
    if (!this.#places.has(key)) this.#places.set(key, { pointer, shape })
  }

  #copy(node: ContractNode, shape: ObjectShape, pointer: string): unknown {
    return shape === schemaShape ? this.#schema(node, pointer) : this.#object(node, shape, pointer)
  }

  #object(node: ContractNode, shape: ObjectShape, pointer: string): TreeCopy {
    const copy: TreeCopy = {}
    if (!isPlainObject(node.value)) {
      this.#files.findings.error(node, issues.otherForm(shape.name, 'a map', node.value))
      return copy
    }
    const reference = node.value.$ref
    if (reference !== undefined && shape.section !== null) {
      if (typeof reference === 'string') return this.#reference(node, reference, shape, pointer, copy)
      this.#files.findings.error(childOf(node, '$ref'), issues.otherReference(reference))
      return copy
    }
    this.#register(node, shape, pointer, copy)
    const { findings } = this.#files
    for (const key of Object.keys(node.value)) {
      const child = childOf(node, key)
      const member = ownMember(shape.members, key)
      if (member?.isNew && this.#version !== '3.2') findings.error(child, issues.newName(key, shape))
      else if (member?.kind === 'dropped') continue
      else if (member?.kind === 'rejected') findings.error(child, issues.rejectedName(key, shape, member.hint))
      else if (member?.kind === 'ignored') this.#ignore(child, key, member.why)
      else if (member !== undefined) copy[key] = this.#member(child, member, `${pointer}/${escapeSegment(key)}`)
      else if (key.startsWith('x-')) copy[key] = child.value
      else findings.error(child, issues.unknownMember(key, shape, this.#version))
    }
    return copy
  }

  #reference(node: ContractNode, reference: string, shape: ObjectShape, pointer: string, copy: TreeCopy): TreeCopy {
    for (const key of Object.keys(asPlainObject(node.value)))
      if (!['$ref', 'summary', 'description'].includes(key) && !key.startsWith('x-'))
        this.#files.findings.warn(childOf(node, key), issues.besideReference(key))
    const seen = new Set([nodeKey(node)])
    let target = this.#files.resolve(node, reference)
    while (target !== null && isPlainObject(target.value) && typeof target.value.$ref === 'string') {
      if (seen.has(nodeKey(target))) {
        this.#files.findings.error(childOf(node, '$ref'), issues.circle(shape))
        return copy
      }
      seen.add(nodeKey(target))
      target = this.#files.resolve(target, target.value.$ref)
    }
    if (target === null) return copy
    // Path items are copied: readers of a bundle look for operations in `paths`.
    if (shape === pathItemShape) return this.#object(target, shape, pointer)
    this.#origins.set(copy, node)
    this.#open.push((document) => this.#place(document, node, copy, target, shape))
    return copy
  }

  /** Warns once for each name: an ordinary document has it in many places. */
  #ignore(node: ContractNode, name: string, why: string): void {
    if (!this.#warned.has(name)) this.#files.findings.warn(node, issues.ignored(name, why))
    this.#warned.add(name)
  }

  #member(node: ContractNode, member: CopiedMember, pointer: string): unknown {
    const { value } = node
    if (member.kind === 'any') return value
    if (member.kind === 'one') return this.#copy(node, member.of, pointer)
    const isList = member.kind === 'list'
    if (isList ? !Array.isArray(value) : !isPlainObject(value)) {
      this.#files.findings.error(node, issues.otherForm(null, isList ? 'a list' : 'a map', value))
      return undefined
    }
    const copies: TreeCopy = {}
    for (const key of Object.keys(Object(value))) {
      const [entry, at] = [childOf(node, isList ? Number(key) : key), `${pointer}/${escapeSegment(key)}`]
      if (key.startsWith('x-') && (member.kind === 'paths' || member.kind === 'fixed-map')) copies[key] = entry.value
      else if (member.kind === 'paths') this.#path(entry, key, at, copies)
      else copies[key] = this.#copy(entry, member.of, at)
    }
    const copy = isList ? Object.values(copies) : copies
    this.#origins.set(copy, node)
    return copy
  }

  /** A misspelled path is read as the path that is meant. */
  #path(node: ContractNode, path: string, pointer: string, copies: TreeCopy): void {
    const { operation, issue } = issues.findPath(path)
    if (issue !== null) this.#files.findings.error(node, issue)
    if (operation === null || (issue !== null && copies[operation.path] !== undefined)) return
    const own = operation.method.toLowerCase()
    const item = this.#object(node, pathItemShape, pointer)
    copies[operation.path] = item
    for (const [method, member] of Object.entries(pathItemShape.members)) {
      const isOther = member.kind === 'one' && member.of === operationShape && method !== own
      if (!isOther || item[method] === undefined) continue
      this.#files.findings.error(
        childOf(this.#origins.get(item) ?? node, method),
        issues.otherMethod(operation, method),
      )
      item[own] ??= item[method]
      delete item[method]
    }
  }

  #schema(node: ContractNode, pointer: string): unknown {
    const { value: stated } = node
    if (typeof stated === 'boolean') return stated
    if (!isPlainObject(stated)) {
      this.#files.findings.error(node, issues.otherForm('a schema', 'a map, true or false', stated))
      return true
    }
    const { schema, lost } = toSchemaOf31(stated, this.#version)
    for (const what of lost) this.#files.findings.warn(node, issues.lostInUpgrade(what))
    if (this.#version === '3.0')
      for (const keyword of oneWayKeywords) if (schema[keyword] === true) this.#oneWay.add(keyword)
    const copy: TreeCopy = {}
    this.#register(node, schemaShape, pointer, copy)
    for (const [key, value] of Object.entries(schema)) {
      const [child, at] = [{ ...childOf(node, key), value }, `${pointer}/${escapeSegment(key)}`]
      if (key === '$ref' && typeof value !== 'string') {
        this.#files.findings.error(child, issues.otherReference(value))
        this.#faulty.add(copy)
      } else if (Object.hasOwn(schemaKeywords, key))
        copy[key] = mapSubSchemas(key, value, (_, ...path) =>
          this.#schema(path.reduce(childOf, child), [at, ...path.map((name) => escapeSegment(`${name}`))].join('/')),
        )
      else if (key.startsWith('x-')) copy[key] = value
      else {
        this.#files.findings.error(child, issues.unknownKeyword(key))
        this.#faulty.add(copy)
      }
    }
    if (copy.$schema !== undefined && !isKnownDialect(copy.$schema))
      this.#files.findings.error(childOf(node, '$schema'), issues.otherDialect(copy.$schema))
    if (typeof copy.$ref === 'string') {
      const target = this.#files.resolve(node, copy.$ref)
      if (target === null) delete copy.$ref
      else this.#open.push((document) => this.#place(document, node, copy, target, schemaShape))
    }
    return copy
  }
}
