import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import type {
  BodyContract,
  CompiledContract,
  JsonType,
  MediaTypeContract,
  OperationContract,
  ParameterContract,
  ResponseContract,
  SchemaName,
} from '../../contract/compiled-contract.ts'
import { isJson } from '../../contract/media-type.ts'
import { allOperations, type Operation, type OperationId } from '../../operations.ts'
import { isReadError, readFileWithLimit } from '../load/read-file.ts'
import { type SourceFile, toSourceFile } from '../load/source-files.ts'
import { type ConfigProblem, fileProblem } from '../problem.ts'
import { parseYamlSource, toPlainTree } from '../yaml/yaml-document.ts'
import { compileSchemas } from './compile-contract.ts'

/** A contract that was read, or the problems of its files. */
export interface LoadedContract {
  /** Null: there are problems. */
  readonly contract: CompiledContract | null
  readonly problems: readonly ConfigProblem[]
  /** What works, but was probably not meant. */
  readonly warnings: readonly ConfigProblem[]
  /** The files, whether they could be read or not. */
  readonly sources: readonly SourceFile[]
}

// A YAML text takes a second for each MiB.
const maxContractBytes = 4 * 1024 ** 2

/** Reads, checks and compiles a contract. A relative path starts at `folder`. Never throws. */
export const loadContract = (folder: string, name: string): LoadedContract => {
  const file = resolve(folder, name)
  const bytes = readFileWithLimit(file, maxContractBytes)
  if (isReadError(bytes)) {
    const problem = fileProblem(
      file,
      `the contract cannot be read: ${bytes.reason}`,
      'an OpenAPI document of at most 4MiB',
      bytes.reason,
    )
    return { contract: null, problems: [problem], warnings: [], sources: [toSourceFile(file, null, maxContractBytes)] }
  }
  const sources = [toSourceFile(file, bytes, maxContractBytes)]
  const source = parseYamlSource(new TextDecoder().decode(bytes))
  const { tree } = toPlainTree(source, {})
  try {
    const compiler = new ContractCompiler(asMap(tree))
    const operations: Partial<Record<OperationId, OperationContract>> = {}
    for (const operation of allOperations) {
      const contract = compiler.operation(
        operation,
        source.locate(['paths', operation.path, operation.method.toLowerCase()]).line,
      )
      if (contract !== null) operations[operation.id] = contract
    }
    const digest = createHash('sha256').update(bytes).digest('hex')
    return {
      contract: { digest, operations, document: tree, ...compiler.compile() },
      problems: [],
      warnings: [],
      sources,
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return {
      contract: null,
      problems: [fileProblem(file, message, 'a valid contract', 'another one')],
      warnings: [],
      sources,
    }
  }
}

type Tree = Readonly<Record<string, unknown>>

const asMap = (value: unknown): Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Tree) : {}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Collects the schemas of a document, and what refers to them. */
class ContractCompiler {
  readonly #document: Tree
  readonly #schemas: Record<SchemaName, object> = {}
  readonly #shared: Record<string, unknown> = {}
  readonly #names = new Set<string>()

  constructor(document: Tree) {
    this.#document = document
  }

  compile(): Pick<CompiledContract, 'code' | 'detailedCode' | 'memberNames'> {
    return { ...compileSchemas(this.#schemas, this.#shared), memberNames: [...this.#names] }
  }

  operation({ path, method }: Operation, line: number): OperationContract | null {
    const item = asMap(asMap(this.#document.paths)[path])
    const operation = this.#follow(item[method.toLowerCase()])
    if (operation === null) return null
    const parameters = [...asList(item.parameters), ...asList(operation.parameters)]
    const body = this.#follow(operation.requestBody)
    return {
      line,
      request: {
        parameters: parameters.flatMap((each) => this.#parameter(asMap(this.#follow(each)))),
        body: body && this.#body(body),
      },
      responses: Object.entries(asMap(operation.responses)).map(([status, response]) =>
        this.#response(status, asMap(this.#follow(response))),
      ),
    }
  }

  #body(body: Tree): BodyContract {
    return { required: body.required === true, content: this.#content(body.content) }
  }

  #response(status: string, response: Tree): ResponseContract {
    const headers = Object.entries(asMap(response.headers)).flatMap(([name, header]) =>
      this.#parameter({ ...asMap(this.#follow(header)), name, in: 'header' }),
    )
    return { status, headers, content: response.content === undefined ? null : this.#content(response.content) }
  }

  #content(content: unknown): readonly MediaTypeContract[] {
    return Object.entries(asMap(content)).map(([type, media]) => {
      const schema = asMap(media).schema
      return {
        type: type.toLowerCase(),
        schema: schema === undefined || !(isJson(type) || type.includes('*')) ? null : this.#schema(schema),
      }
    })
  }

  #parameter(parameter: Tree): readonly ParameterContract[] {
    const { name, in: place, schema, content } = parameter
    if (typeof name !== 'string' || (place !== 'query' && place !== 'header')) return []
    if (place === 'header' && ['accept', 'content-type', 'authorization'].includes(name.toLowerCase())) return []
    const [media] = Object.values(asMap(content))
    const used = schema ?? asMap(media).schema
    const style = media === undefined ? (parameter.style ?? (place === 'query' ? 'form' : 'simple')) : 'json'
    const plain = asMap(this.#follow(used))
    return [
      {
        in: place,
        name: place === 'header' ? name.toLowerCase() : name,
        required: parameter.required === true,
        style: style as ParameterContract['style'],
        explode: typeof parameter.explode === 'boolean' ? parameter.explode : style === 'form',
        allowsEmpty: place === 'query' && parameter.allowEmptyValue === true,
        types: typesOf(plain),
        itemTypes: typesOf(asMap(this.#follow(plain.items))),
        memberTypes: Object.fromEntries(
          Object.entries(asMap(plain.properties)).map(([member, each]) => [member, typesOf(asMap(this.#follow(each)))]),
        ),
        schema: used === undefined ? null : this.#schema(used),
      },
    ]
  }

  #schema(schema: unknown): SchemaName {
    const name = `s${Object.keys(this.#schemas).length}`
    this.#schemas[name] = asMap(this.#rewrite(schema))
    return name
  }

  /** Copies a schema with its references led to the shared schemas. */
  #rewrite(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#rewrite(each))
    if (typeof schema !== 'object' || schema === null) return schema
    for (const name of Object.keys(asMap(asMap(schema).properties))) this.#names.add(name)
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [
        key,
        key === '$ref' && typeof value === 'string' ? this.#share(value) : this.#rewrite(value),
      ]),
    )
  }

  #share(pointer: string): string {
    const name = pointer.replace('#/', '').replaceAll('/', '.')
    if (!(name in this.#shared)) {
      this.#shared[name] = true
      this.#shared[name] = this.#rewrite(this.#resolve(pointer))
    }
    return `contract:///shared#/$defs/${name}`
  }

  #follow(value: unknown): Tree | null {
    if (typeof value !== 'object' || value === null) return null
    const { $ref: pointer } = value as Tree
    return typeof pointer === 'string' ? this.#follow(this.#resolve(pointer)) : (value as Tree)
  }

  #resolve(pointer: string): unknown {
    let value: unknown = this.#document
    for (const segment of pointer.replace('#/', '').split('/'))
      value = asMap(value)[segment.replaceAll('~1', '/').replaceAll('~0', '~')]
    if (value === undefined) throw new Error(`cannot resolve ${pointer}`)
    return value
  }
}

const typesOf = ({ type }: Tree): readonly JsonType[] =>
  Array.isArray(type) ? type : typeof type === 'string' ? [type as JsonType] : []
