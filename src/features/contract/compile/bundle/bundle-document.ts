import { asPlainObject, escapeSegment, isPlainObject, ownMember } from '../../../../core/lib/plain-object.ts'
import type { ContractFile } from '../contract-file.ts'
import type { ContractFiles } from '../contract-files.ts'
import {
  type ContractFindings,
  type ContractNode,
  childOf,
  describeValue,
  nodeKey,
  type Tree,
} from '../contract-node.ts'
import { isKnownDialect, schemaKeywords } from '../schema-keywords.ts'
import * as issues from './bundle-issues.ts'
import {
  chooseComponentName,
  componentSection,
  documentShape,
  type Member,
  type ObjectShape,
  operationShape,
  pathItemShape,
  type TreeCopy,
} from './object-shapes.ts'
import {
  type OneWayKeyword,
  type OpenApiVersion,
  oneWayKeywords,
  splitOneWayMembers,
  toSchemaOf31,
} from './upgrade-schema.ts'

/** A contract as one document without references to other files. */
export interface BundledDocument {
  readonly document: Tree
  /** Where each map and list was written. Broken references have no origin: they are reported once. */
  readonly origins: WeakMap<object, ContractNode>
  /** Schemas with an unknown keyword, whose meaning is unknown. */
  readonly faulty: ReadonlySet<object>
}

const schemaShape: ObjectShape = { name: 'a schema', section: 'schemas', members: {} }

interface BundlePlace {
  readonly pointer: string
  readonly shape: ObjectShape
}

interface OpenReference {
  readonly from: ContractNode
  readonly copy: TreeCopy
  readonly target: ContractNode
  readonly shape: ObjectShape
}

/**
 * Copies a contract into one OpenAPI 3.1 document. What is no OpenAPI is reported and left out, so that the rest can be
 * checked too. `version`: that of the contract.
 */
export const bundleDocument = (
  main: ContractFile,
  files: ContractFiles,
  findings: ContractFindings,
  version: OpenApiVersion,
): BundledDocument => new Bundler(files, findings, version).bundle(main)

const namesOf = ({ members }: ObjectShape, version: OpenApiVersion): readonly string[] =>
  Object.entries(members).flatMap(([name, { kind, isNew }]) =>
    kind === 'refused' || (isNew && version !== '3.2') ? [] : [name],
  )

class Bundler {
  readonly #files: ContractFiles
  readonly #findings: ContractFindings
  readonly #version: OpenApiVersion
  readonly #origins = new WeakMap<object, ContractNode>()
  /** The first place of each object. */
  readonly #places = new Map<string, BundlePlace>()
  readonly #faulty = new Set<object>()
  readonly #open: OpenReference[] = []
  readonly #warned = new Set<string>()
  /** Keywords of a 3.0 document; in 3.1 they check nothing. */
  readonly #oneWay = new Set<OneWayKeyword>()

  constructor(files: ContractFiles, findings: ContractFindings, version: OpenApiVersion) {
    this.#files = files
    this.#findings = findings
    this.#version = version
  }

  bundle(main: ContractFile): BundledDocument {
    const document = this.#object({ file: main, path: [], value: main.tree }, documentShape, '')
    document.openapi = '3.1.1'
    // Everything of the main file has its place by now.
    for (const reference of this.#open) this.#place(reference, document)
    for (const keyword of this.#oneWay)
      splitOneWayMembers({ document, origins: this.#origins, faulty: this.#faulty }, keyword)
    return { document, origins: this.#origins, faulty: this.#faulty }
  }

  #place({ from, copy, target, shape }: OpenReference, document: TreeCopy): void {
    let place = this.#places.get(nodeKey(target))
    if (place === undefined && shape.section !== null) {
      const section = componentSection(document, shape.section)
      const name = chooseComponentName(target, section)
      const pointer = `/components/${shape.section}/${name}`
      section[name] = true // it may refer to itself
      section[name] = shape === schemaShape ? this.#schema(target, pointer) : this.#object(target, shape, pointer)
      place = { pointer, shape }
    }
    if (place === undefined) return
    if (place.shape === shape) copy.$ref = `#${encodeURI(place.pointer)}`
    else {
      this.#findings.error(childOf(from, '$ref'), issues.otherTarget(shape, place.shape))
      this.#origins.delete(copy)
      delete copy.$ref
    }
  }

  #register(node: ContractNode, shape: ObjectShape, pointer: string, copy: TreeCopy): void {
    this.#origins.set(copy, node)
    const key = nodeKey(node)
    if (!this.#places.has(key)) this.#places.set(key, { pointer, shape })
  }

  #object(node: ContractNode, shape: ObjectShape, pointer: string): TreeCopy {
    const copy: TreeCopy = {}
    if (!isPlainObject(node.value)) {
      this.#findings.error(node, issues.otherForm(shape.name, 'a map', node.value))
      return copy
    }
    const reference = node.value.$ref
    if (reference !== undefined && shape.section !== null) {
      if (typeof reference === 'string') return this.#reference(node, reference, shape, pointer, copy)
      this.#findings.error(childOf(node, '$ref'), issues.otherReference(reference))
      return copy
    }
    this.#register(node, shape, pointer, copy)
    for (const key of Object.keys(node.value)) {
      const member = ownMember(shape.members, key)
      const unknown = `unknown in ${shape.name}`
      if (member?.isNew && this.#version !== '3.2')
        this.#findings.error(childOf(node, key), issues.newName(key, unknown))
      else if (member?.kind === 'dropped') continue
      else if (member?.kind === 'refused')
        this.#findings.error(childOf(node, key), issues.refusedName(key, shape, member.hint))
      else if (member?.kind === 'ignored') this.#ignore(childOf(node, key), key, member.why)
      else if (member !== undefined)
        copy[key] = this.#member(childOf(node, key), member, `${pointer}/${escapeSegment(key)}`)
      else if (key.startsWith('x-')) copy[key] = node.value[key]
      else this.#findings.error(childOf(node, key), issues.unknownName(key, namesOf(shape, this.#version), unknown))
    }
    return copy
  }

  #reference(node: ContractNode, reference: string, shape: ObjectShape, pointer: string, copy: TreeCopy): TreeCopy {
    for (const key of Object.keys(asPlainObject(node.value)))
      if (!['$ref', 'summary', 'description'].includes(key) && !key.startsWith('x-'))
        this.#findings.warn(childOf(node, key), issues.besideReference(key))
    const seen = new Set([nodeKey(node)])
    let target = this.#files.resolve(node, reference)
    while (target !== null && isPlainObject(target.value) && typeof target.value.$ref === 'string') {
      if (seen.has(nodeKey(target))) {
        this.#findings.error(childOf(node, '$ref'), issues.circle(shape))
        return copy
      }
      seen.add(nodeKey(target))
      target = this.#files.resolve(target, target.value.$ref)
    }
    if (target === null) return copy
    // Path items are copied: readers of a bundle look for operations in `paths`.
    if (shape === pathItemShape) return this.#object(target, shape, pointer)
    this.#origins.set(copy, node)
    this.#open.push({ from: node, copy, target, shape })
    return copy
  }

  /** Warns once for each name: an ordinary document has it in many places. */
  #ignore(node: ContractNode, name: string, why: string): void {
    if (this.#warned.has(name)) return
    this.#warned.add(name)
    this.#findings.warn(node, issues.ignored(name, why))
  }

  #member(
    node: ContractNode,
    member: Exclude<Member, { kind: 'ignored' | 'dropped' | 'refused' }>,
    pointer: string,
  ): unknown {
    if (member.kind === 'any') return node.value
    if (member.kind === 'one') return this.#object(node, member.of, pointer)
    if (member.kind === 'schema') return this.#schema(node, pointer)
    if (member.kind === 'list') {
      if (!Array.isArray(node.value)) return this.#notA('a list', node)
      const copies = node.value.map((_, index) => this.#object(childOf(node, index), member.of, `${pointer}/${index}`))
      this.#origins.set(copies, node)
      return copies
    }
    if (!isPlainObject(node.value)) return this.#notA('a map', node)
    const copies: TreeCopy = {}
    this.#origins.set(copies, node)
    for (const key of Object.keys(node.value)) {
      const [entry, at] = [childOf(node, key), `${pointer}/${escapeSegment(key)}`]
      if (key.startsWith('x-') && (member.kind === 'paths' || member.kind === 'fixed-map')) copies[key] = entry.value
      else if (member.kind === 'paths') this.#path(entry, key, at, copies)
      else copies[key] = 'of' in member ? this.#object(entry, member.of, at) : this.#schema(entry, at)
    }
    return copies
  }

  #notA(expected: string, node: ContractNode): unknown {
    this.#findings.error(node, { message: 'this has another form', expected, found: describeValue(node.value) })
    return undefined
  }

  /** A misspelled path is read as the path that is meant. */
  #path(node: ContractNode, path: string, pointer: string, copies: TreeCopy): void {
    const { operation, issue } = issues.findPath(path)
    if (issue !== null) this.#findings.error(node, issue)
    if (operation === null || (issue !== null && copies[operation.path] !== undefined)) return
    const own = operation.method.toLowerCase()
    const item = this.#object(node, pathItemShape, pointer)
    copies[operation.path] = item
    for (const [method, member] of Object.entries(pathItemShape.members)) {
      if (member.kind !== 'one' || member.of !== operationShape || item[method] === undefined) continue
      if (method === own) continue
      this.#findings.error(childOf(this.#origins.get(item) ?? node, method), issues.otherMethod(operation, method))
      item[own] ??= item[method]
      delete item[method]
    }
  }

  #schema(node: ContractNode, pointer: string): unknown {
    const { value: stated } = node
    if (typeof stated === 'boolean') return stated
    if (!isPlainObject(stated)) {
      this.#findings.error(node, issues.otherForm('a schema', 'a map, true or false', stated))
      return true
    }
    const { schema, lost } = toSchemaOf31(stated, this.#version)
    for (const what of lost) this.#findings.warn(node, issues.lostInUpgrade(what))
    if (this.#version === '3.0')
      for (const keyword of oneWayKeywords) if (schema[keyword] === true) this.#oneWay.add(keyword)
    const copy: TreeCopy = {}
    this.#register(node, schemaShape, pointer, copy)
    for (const key of Object.keys(schema)) {
      if (key === '$ref' && typeof schema.$ref !== 'string') {
        this.#findings.error(childOf(node, key), issues.otherReference(schema.$ref))
        this.#faulty.add(copy)
        continue
      }
      const kind = ownMember(schemaKeywords, key)
      if (kind !== undefined)
        copy[key] = this.#keyword(
          { ...childOf(node, key), value: schema[key] },
          kind,
          `${pointer}/${escapeSegment(key)}`,
        )
      else if (key.startsWith('x-')) copy[key] = schema[key]
      else {
        this.#findings.error(childOf(node, key), issues.unknownKeyword(key))
        this.#faulty.add(copy)
      }
    }
    if (copy.$schema !== undefined && !isKnownDialect(copy.$schema))
      this.#findings.error(childOf(node, '$schema'), issues.otherDialect(copy.$schema))
    if (typeof copy.$ref === 'string') {
      const target = this.#files.resolve(node, copy.$ref)
      if (target === null) delete copy.$ref
      else this.#open.push({ from: node, copy, target, shape: schemaShape })
    }
    return copy
  }

  #keyword(node: ContractNode, kind: (typeof schemaKeywords)[string], pointer: string): unknown {
    if (kind === 'schema') return this.#schema(node, pointer)
    // The meta-schema reports a value of another form.
    if (kind === 'schema-list' && Array.isArray(node.value))
      return node.value.map((_, index) => this.#schema(childOf(node, index), `${pointer}/${index}`))
    if (kind === 'schema-map' && isPlainObject(node.value))
      return Object.fromEntries(
        Object.keys(node.value).map((key) => [
          key,
          this.#schema(childOf(node, key), `${pointer}/${escapeSegment(key)}`),
        ]),
      )
    return node.value
  }
}
