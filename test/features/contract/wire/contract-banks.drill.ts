/**
 * Documents of banks as contracts, and the gateway's own: the banks' responses require x-fapi-interaction-id, which the
 * gateway writes. The documents lie beside the project, and are never copied into it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { asPlainObject, type PlainObject } from '../../../../src/core/lib/plain-object.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { allOperations } from '../../../../src/operations.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { bootLiveGateway, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'
import { documentOf } from '../../openapi/document.ts'

const folder = new URL('../../../../../shared/data/contracts/', import.meta.url)
const rounds = 10

/** Returns the parts of a request in which the rounds differ: query, fields, content. */
const requestOf = (round: number) => ({
  query: round % 4 === 0 ? '' : `?page=${round}&page-size=${round * 5}`,
  fields: [
    'X-Round',
    `${round}`,
    ...(round % 2 === 0 ? [] : ['x-fapi-interaction-id', `93bac548-d2de-4546-b106-8800000000${round + 10}`]),
    ...(round % 3 === 0 ? ['Accept', 'application/json'] : []),
    ...(round % 5 === 0 ? ['Accept-Encoding', 'gzip', 'Accept-Language', 'en-GB'] : []),
  ],
  body: Buffer.from(JSON.stringify({ round, text: 'x'.repeat(round * 700) })),
})

/** Sends each operation as many requests as there are rounds, all different; returns the status of each. */
const sendAll = async ({ gateway }: LiveGateway): Promise<readonly number[]> => {
  const statuses: number[] = []
  for (let round = 0; round < rounds; round++) {
    const { query, fields, body } = requestOf(round)
    const responses = await Promise.all(
      allOperations.map(({ method, path }) =>
        call(gateway.address.port, {
          method,
          target: path + query,
          fields: method === 'POST' ? [...fields, 'Content-Type', 'application/json'] : fields,
          ...(method === 'POST' ? { body } : {}),
        }),
      ),
    )
    statuses.push(...responses.map(({ status }) => status))
  }
  return statuses
}

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
    const [path = ''] = (request.url ?? '').split('?')
    const { status = 500, body = null } = responses.get(path) ?? {}
    const round = Number(fieldValues(request.rawHeaders, 'x-round')[0])
    const type = round % 2 === 0 ? 'application/json' : 'Application/JSON; charset=utf-8'
    const length = round % 3 === 0 && body !== null ? ['Content-Length', `${Buffer.byteLength(body)}`] : []
    response.writeHead(status, [...fields, ...length, ...(body === null ? [] : ['Content-Type', type])])
    response.end(body ?? '')
  })
  const live = await bootLiveGateway({
    upstream: upstream.url,
    requestId,
    contract: { file: contractFile(document), request: 'off', response: 'report' },
  })
  await sendAll(live)
  return () => readCounts(live, 'response')
}

const readCounts = async ({ admin }: LiveGateway, direction: 'request' | 'response'): Promise<Counts> => {
  const { contract, rows } = (await (await fetch(`${admin}/contract`)).json()) as Report
  const all = Object.values(contract.operations).map((operation) => operation[direction])
  const sum = (name: 'checked' | 'broken'): number => all.reduce((total, each) => total + each[name], 0)
  return { checked: sum('checked'), broken: sum('broken'), rows }
}

interface Report {
  readonly contract: {
    readonly operations: Readonly<
      Record<string, Readonly<Record<'request' | 'response', Pick<Counts, 'checked' | 'broken'>>>>
    >
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
    // Every second request brings an id of its own, which the gateway repeats.
    await expect.poll(elsewhere).toMatchObject({ checked: all, broken: all / 2 })

    console.log(`${what}: 0 broken of ${all}; with the id in X-Request-Id: ${all / 2}`)
  },
)

test("the gateway's own document, enforced: no request and no response of all nine breaks it", async () => {
  const statuses = [200, 201, 202, 204, 400, 404, 409, 422, 500, 503]
  const types = ['application/json', 'text/html', 'application/vnd.bank+json; v=1', 'text/plain; charset=utf-8']
  const upstream = await httpUpstream((request, response) => {
    const round = Number(fieldValues(request.rawHeaders, 'x-round')[0])
    const status = statuses[round % statuses.length] ?? 200
    response.writeHead(status, status === 204 ? [] : ['Content-Type', types[round % types.length] ?? ''])
    response.end(status === 204 ? '' : '{"a":1}')
  })
  const file = contractFile(documentOf({ upstream: upstream.url }))
  const enforced = { file, request: 'enforce', response: 'enforce' }
  const live = await bootLiveGateway({ upstream: upstream.url, contract: enforced })

  const received = await sendAll(live)

  const all = allOperations.length * rounds
  expect(received).toEqual(Array.from({ length: all }, (_, i) => statuses[Math.floor(i / 9) % statuses.length]))
  for (const direction of ['request', 'response'] as const)
    expect(await readCounts(live, direction)).toMatchObject({ broken: 0, rows: [] })
  console.log(`the gateway's own document, enforced: 0 broken of ${all} requests and ${all} responses`)
})

/** Lists the operations of a document, without the parameters of their paths: those of the nine have none. */
const operationsOf = (source: PlainObject): readonly PlainObject[] => {
  const resolve = (value: unknown): PlainObject => {
    const { $ref } = asPlainObject(value)
    const segments = typeof $ref === 'string' ? $ref.slice(2).split('/') : null
    return asPlainObject(segments?.reduce((at, name) => asPlainObject(at)[name], source as unknown) ?? value)
  }
  const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
  return Object.values(asPlainObject(source.paths)).flatMap((stated) => {
    const item = asPlainObject(stated)
    return ['get', 'post', 'put', 'patch', 'delete'].flatMap((method) => {
      if (item[method] === undefined) return []
      const operation = asPlainObject(item[method])
      const parameters = [...listOf(item.parameters), ...listOf(operation.parameters)]
      return [{ ...operation, parameters: parameters.filter((each) => resolve(each).in !== 'path') }]
    })
  })
}

test.for([
  ['ob-account-info.yaml', 29],
  ['ob-payment-initiation.yaml', 41],
  ['ob-vrp.yaml', 9],
  ['cds_banking.json', 19],
  ['bg.yaml', 38],
] as const)('%s loads without an error, its %i operations at the paths of the nine', ([name, count], { skip }) => {
  const file = new URL(name, folder)
  if (!existsSync(file)) skip(`skipped: ${name} is not beside the project`)
  const source = asPlainObject(parse(readFileSync(file, 'utf8')))
  const operations = operationsOf(source)
  const problems: unknown[] = []
  for (let first = 0; first < operations.length; first += allOperations.length) {
    const paths = allOperations.flatMap(({ method, path }, i) => {
      const operation = operations[first + i]
      return operation === undefined ? [] : [[path, { [method.toLowerCase()]: operation }]]
    })
    const contract = contractFile({ ...source, paths: Object.fromEntries(paths) })
    const loaded = loadContract(dirname(contract), basename(contract))
    problems.push(...loaded.problems)
    expect(Object.keys(loaded.contract?.operations ?? {})).toHaveLength(paths.length)
  }

  expect([operations.length, problems]).toEqual([count, []])
  console.log(`${name}: ${count} operations, no error`)
})
