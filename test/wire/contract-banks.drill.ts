/**
 * Documents of banks as contracts: their responses require x-fapi-interaction-id, which the gateway writes. The
 * documents lie beside the project, and are never copied into it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { allOperations } from '../../src/operations.ts'
import { asPlainObject, type PlainObject } from '../../src/plain-object.ts'
import { contractFile } from '../helpers/contract.ts'
import { bootLiveGateway } from '../helpers/live-gateway.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { call } from '../helpers/wire.ts'

const folder = new URL('../../../shared/data/contracts/', import.meta.url)
const rounds = 20

/** A document of a bank whose operations stand at the paths of the nine. */
interface BankContract {
  readonly document: PlainObject
  /** What the upstream sends for each path. */
  readonly responses: ReadonlyMap<string, { readonly status: number; readonly body: string | null }>
}

/** Makes a contract of nine responses of a document, with its components. `schemaOf` null: the response has no body. */
const toContract = (text: string): BankContract => {
  const source = asPlainObject(parse(text))
  const resolve = (value: unknown): PlainObject => {
    const { $ref, ...node } = asPlainObject(value)
    if (typeof $ref !== 'string') return asPlainObject(value)
    const target = $ref
      .slice(2)
      .split('/')
      .reduce((at, name) => asPlainObject(at)[name.replaceAll('~1', '/')], source as unknown)
    return { ...node, ...resolve(target) }
  }
  const stated = Object.values(asPlainObject(source.paths)).flatMap((item) =>
    Object.values(asPlainObject(item)).flatMap((operation) =>
      Object.entries(asPlainObject(asPlainObject(operation).responses)).filter(([status]) => status.startsWith('2')),
    ),
  )
  const chosen = stated.filter(([, response], i) => {
    const isFirst = stated.findIndex((each) => JSON.stringify(each[1]) === JSON.stringify(response)) === i
    const types = Object.keys(asPlainObject(resolve(response).content))
    return isFirst && (types.length === 0 || types.includes('application/json'))
  })
  const paths: Record<string, PlainObject> = {}
  const responses = new Map<string, { status: number; body: string | null }>()
  allOperations.forEach(({ method, path }, i) => {
    const [status, response] = chosen[i] ?? []
    if (status === undefined) throw new Error(`the document has ${chosen.length} responses`)
    const media = asPlainObject(asPlainObject(resolve(response).content)['application/json'])
    paths[path] = { [method.toLowerCase()]: { responses: { [status]: response } } }
    const body = media.schema === undefined ? null : JSON.stringify(exampleOf(media.schema, resolve))
    responses.set(path, { status: Number(status), body })
  })
  return { document: { ...source, paths }, responses }
}

/** Makes a small value that a schema allows, with every member that it requires. */
const exampleOf = (stated: unknown, resolve: (value: unknown) => PlainObject): unknown => {
  const schema = resolve(stated)
  const { enum: values, allOf, oneOf, anyOf, type, pattern, format, minLength = 0 } = schema
  if (Array.isArray(values)) return values[0]
  if (schema.default !== undefined) return schema.default
  const [branch] = [oneOf, anyOf].flatMap((each) => (Array.isArray(each) ? [each[0]] : []))
  const parts = [...(Array.isArray(allOf) ? allOf : []), ...(branch === undefined ? [] : [branch])]
  if (type === 'object' || schema.properties !== undefined || parts.length > 0) {
    const own = Array.isArray(schema.required) ? schema.required.map(String) : []
    const properties = asPlainObject(schema.properties)
    const members = own.map((name) => [name, exampleOf(properties[name] ?? {}, resolve)])
    const merged = parts.map((part) => exampleOf(part, resolve))
    if (merged.length > 0 && own.length === 0 && !merged.every((each) => typeof each === 'object')) return merged[0]
    return Object.assign({}, ...merged, Object.fromEntries(members))
  }
  if (type === 'array') return [exampleOf(schema.items, resolve)]
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  if (format === 'date-time') return '2026-11-28T12:00:00Z'
  const texts = ['1', '10.00', 'GBP', 'A', 'GB', '2026-11-28', 'a@b.example', 'P1D', 'https://bank.example/a']
  const fits = (text: string): boolean =>
    text.length >= Number(minLength) && (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text))
  return texts.find(fits) ?? 'x'.repeat(Number(minLength))
}

const countResponses = async (
  { document, responses }: BankContract,
  requestId: Readonly<Record<string, string>>,
  fields: readonly string[],
) => {
  const upstream = await httpUpstream((request, response) => {
    const { status = 500, body = null } = responses.get(request.url ?? '') ?? {}
    response.writeHead(status, [...fields, ...(body === null ? [] : ['Content-Type', 'application/json'])])
    response.end(body ?? '')
  })
  const live = await bootLiveGateway({
    upstream: upstream.url,
    requestId,
    contract: { file: contractFile(document), request: 'off', response: 'report' },
  })
  for (let round = 0; round < rounds; round++)
    await Promise.all(
      allOperations.map(({ method, path }) =>
        call(live.gateway.address.port, {
          method,
          target: path,
          ...(method === 'POST' ? { body: Buffer.from('{}') } : {}),
        }),
      ),
    )
  return async (): Promise<Counts> => {
    const { contract, rows } = (await (await fetch(`${live.admin}/contract`)).json()) as Report
    const all = Object.values(contract.operations).map(({ response }) => response)
    const sum = (name: 'checked' | 'broken'): number => all.reduce((total, each) => total + each[name], 0)
    return { checked: sum('checked'), broken: sum('broken'), rows }
  }
}

interface Report {
  readonly contract: {
    readonly operations: Readonly<Record<string, { readonly response: Pick<Counts, 'checked' | 'broken'> }>>
  }
  readonly rows: readonly unknown[]
}

interface Counts {
  readonly checked: number
  readonly broken: number
  readonly rows: readonly unknown[]
}

test.for([
  ["UK Open Banking's account document", 'ob-account-info.yaml', []],
  ["the Australian CDR's banking document", 'cds_banking.json', ['x-v', '1']],
] as const)(
  '%s: no response breaks it, where the request id stands in x-fapi-interaction-id',
  async ([what, name, fields], { skip }) => {
    const file = new URL(name, folder)
    if (!existsSync(file)) skip(`skipped: ${name} is not beside the project`)
    const contract = toContract(readFileSync(file, 'utf8'))
    const all = allOperations.length * rounds

    const kept = await countResponses(contract, { header: 'x-fapi-interaction-id' }, fields)
    await expect.poll(kept).toEqual({ checked: all, broken: 0, rows: [] })
    const elsewhere = await countResponses(contract, { header: 'X-Request-Id' }, fields)
    await expect.poll(elsewhere).toMatchObject({ checked: all, broken: all })

    console.log(`${what}: 0 broken of ${all}; with the id in X-Request-Id: ${all} of ${all}`)
  },
)
